package trees

import (
	"bytes"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Trees, rules, branches and leaves as a TSD's API shows them, in the order of its fields.

// A numbered is an object whose names are numbers, in their order.
type numbered[V any] []numberedField[V]

type numberedField[V any] struct {
	number int
	value  V
}

// MarshalJSON implements json.Marshaler.
func (n numbered[V]) MarshalJSON() ([]byte, error) {
	if n == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, field := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(strconv.Itoa(field.number)) + ":")
		value, err := httpapi.Marshal(field.value)
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

type shownTree struct {
	Name          string                        `json:"name"`
	Description   string                        `json:"description"`
	Notes         string                        `json:"notes"`
	Enabled       bool                          `json:"enabled"`
	Rules         numbered[numbered[shownRule]] `json:"rules"` // by level and order; null without any
	Created       int64                         `json:"created"`
	TreeID        int                           `json:"treeId"`
	StrictMatch   bool                          `json:"strictMatch"`
	StoreFailures bool                          `json:"storeFailures"`
}

func showTree(d tree.Definition) shownTree {
	s := shownTree{
		Name: d.Name, Description: d.Description, Notes: d.Notes, Enabled: d.Enabled, Created: d.Created, TreeID: int(d.ID),
		StrictMatch: d.StrictMatch, StoreFailures: d.StoreFailures,
	}
	for _, r := range d.Rules {
		if r.Type == "" {
			continue // a TSD fails here
		}
		if n := len(s.Rules); n == 0 || s.Rules[n-1].number != r.Level {
			s.Rules = append(s.Rules, numberedField[numbered[shownRule]]{number: r.Level})
		}
		level := &s.Rules[len(s.Rules)-1].value
		*level = append(*level, numberedField[shownRule]{r.Order, showRule(d.ID, r)})
	}
	return s
}

type shownRule struct {
	Type          string `json:"type"`
	Field         string `json:"field"`
	Regex         string `json:"regex"`
	Separator     string `json:"separator"`
	Description   string `json:"description"`
	Notes         string `json:"notes"`
	Level         int    `json:"level"`
	Order         int    `json:"order"`
	TreeID        int    `json:"treeId"`
	CustomField   string `json:"customField"`
	RegexGroupIdx int    `json:"regexGroupIdx"`
	DisplayFormat string `json:"displayFormat"`
}

func showRule(id uint16, r schema.TreeRule) shownRule {
	return shownRule{
		Type: r.Type, Field: r.Field, Regex: r.Regex, Separator: r.Separator, Description: r.Description, Notes: r.Notes, Level: r.Level,
		Order: r.Order, TreeID: int(id), CustomField: r.CustomField, RegexGroupIdx: r.RegexGroupIdx, DisplayFormat: r.DisplayFormat,
	}
}

type shownBranch struct {
	Leaves      []shownLeaf      `json:"leaves"`   // null without any
	Branches    []*shownBranch   `json:"branches"` // null without any
	Path        numbered[string] `json:"path"`
	DisplayName string           `json:"displayName"`
	TreeID      int              `json:"treeId"`
	BranchID    string           `json:"branchId"`
	Depth       int              `json:"depth"`
}

func showBranch(id uint16, b schema.Branch, row []byte) *shownBranch {
	s := &shownBranch{DisplayName: b.DisplayName, TreeID: int(id), BranchID: schema.FormatTSUID(row), Depth: max(len(b.Path)-1, 0)}
	for depth, name := range b.Path {
		s.Path = append(s.Path, numberedField[string]{depth, name})
	}
	return s
}

type shownLeaf struct {
	Metric      string            `json:"metric"`
	Tags        map[string]string `json:"tags"`
	TSUID       string            `json:"tsuid"`
	DisplayName string            `json:"displayName"`
}

// showRoute returns the root of a tree with what a route would make of a series.
func showRoute(id uint16, r tree.Route, tsuid []byte) *shownBranch {
	root := showBranch(id, schema.NewBranch(), schema.TreeRow(id))
	if r.Leaf == "" {
		return root
	}
	at := root
	for i := range r.Branches {
		names := r.Branches[:i+1]
		next := showBranch(id, schema.NewBranch(names...), schema.BranchRow(id, names...))
		at.Branches = []*shownBranch{next}
		at = next
	}
	at.Leaves = []shownLeaf{{TSUID: schema.FormatTSUID(tsuid), DisplayName: r.Leaf}}
	return root
}

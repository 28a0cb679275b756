package schema

import (
	"fmt"
	"strconv"
)

// A Tree is the definition of a tree; its id is in its row key, its rules are columns of their own.
// A TSD edits it only if the stored bytes are those that it would print itself.
type Tree struct {
	Name, Description, Notes string
	// StrictMatch keeps out the series that a level of the rules does not match.
	StrictMatch bool
	Created     int64 // seconds; a TSD leaves 0
	Enabled     bool
	// StoreFailures keeps the series that have no place in rows of their own.
	StoreFailures bool
}

// AppendTo appends the document as OpenTSDB 2.4 Tree.toStorageJson prints it.
func (t Tree) AppendTo(dst []byte) []byte {
	dst = appendField(dst, `{"name":`, t.Name)
	dst = appendField(dst, `,"description":`, t.Description)
	dst = appendField(dst, `,"notes":`, t.Notes)
	dst = strconv.AppendBool(append(dst, `,"strictMatch":`...), t.StrictMatch)
	dst = strconv.AppendInt(append(dst, `,"created":`...), t.Created, 10)
	dst = strconv.AppendBool(append(dst, `,"enabled":`...), t.Enabled)
	dst = strconv.AppendBool(append(dst, `,"storeFailures":`...), t.StoreFailures)
	return append(dst, '}')
}

// ParseTree reads a stored definition with its fields in any order.
func ParseTree(b []byte) (Tree, error) {
	f := parseFields(b)
	t := Tree{
		Name: f.scalar("name"), Description: f.scalar("description"), Notes: f.scalar("notes"),
		StrictMatch: f.boolean("strictMatch"), Created: f.integer("created", 64),
		Enabled: f.boolean("enabled"), StoreFailures: f.boolean("storeFailures"),
	}
	if f.err != nil {
		return Tree{}, fmt.Errorf("parse tree %.100q: %w", b, f.err)
	}
	return t, nil
}

// EditTree gives the stored document with the fields of t in their old places. Unknown fields stay.
func EditTree(stored []byte, t Tree) ([]byte, error) {
	edited, err := editMembers(stored, t.AppendTo(nil))
	if err != nil {
		return nil, fmt.Errorf("edit tree %.100q: %w", stored, err)
	}
	return edited, nil
}

// A TreeRule makes names of the path out of a series.
type TreeRule struct {
	Type                    string // METRIC, METRIC_CUSTOM, TAGK, TAGK_CUSTOM or TAGV_CUSTOM
	Field, Regex, Separator string
	Description, Notes      string
	Level, Order            int // from 0
	CustomField             string
	RegexGroupIdx           int // from 0, the first group in parentheses
	DisplayFormat           string
	TreeID                  int
}

// SamePlace reports whether another rule has the same level and order.
func (r TreeRule) SamePlace(other TreeRule) bool {
	return r.Level == other.Level && r.Order == other.Order
}

// AppendTo appends the document in one of the orders that OpenTSDB 2.4 prints. Its serialisation is
// that of a bean: the last fields change places from one start of a TSD to the next, so that no
// order is right for all of them.
func (r TreeRule) AppendTo(dst []byte) []byte {
	dst = appendField(dst, `{"type":`, r.Type)
	dst = appendField(dst, `,"field":`, r.Field)
	dst = appendField(dst, `,"regex":`, r.Regex)
	dst = appendField(dst, `,"separator":`, r.Separator)
	dst = appendField(dst, `,"description":`, r.Description)
	dst = appendField(dst, `,"notes":`, r.Notes)
	dst = strconv.AppendInt(append(dst, `,"level":`...), int64(r.Level), 10)
	dst = strconv.AppendInt(append(dst, `,"order":`...), int64(r.Order), 10)
	dst = appendField(dst, `,"customField":`, r.CustomField)
	dst = strconv.AppendInt(append(dst, `,"regexGroupIdx":`...), int64(r.RegexGroupIdx), 10)
	dst = appendField(dst, `,"displayFormat":`, r.DisplayFormat)
	dst = strconv.AppendInt(append(dst, `,"treeId":`...), int64(r.TreeID), 10)
	return append(dst, '}')
}

// LikeSibling returns the document with its fields in the order of another rule's, if that has the
// same fields.
func (r TreeRule) LikeSibling(sibling []byte) []byte {
	plain := r.AppendTo(nil)
	like, err := EditTreeRule(sibling, r)
	if err != nil || len(like) != len(plain) {
		return plain
	}
	return like
}

// ParseTreeRule reads a stored rule with its fields in any order.
func ParseTreeRule(b []byte) (TreeRule, error) {
	f := parseFields(b)
	r := TreeRule{
		Type: f.scalar("type"), Field: f.scalar("field"), Regex: f.scalar("regex"), Separator: f.scalar("separator"),
		Description: f.scalar("description"), Notes: f.scalar("notes"),
		Level: int(f.integer("level", 32)), Order: int(f.integer("order", 32)),
		CustomField: f.scalar("customField"), RegexGroupIdx: int(f.integer("regexGroupIdx", 32)),
		DisplayFormat: f.scalar("displayFormat"), TreeID: int(f.integer("treeId", 32)),
	}
	if f.err != nil {
		return TreeRule{}, fmt.Errorf("parse tree rule %.100q: %w", b, f.err)
	}
	return r, nil
}

// EditTreeRule gives the stored document with the fields of r in their old places, so that the TSD
// that wrote it can go on editing it. Unknown fields stay.
func EditTreeRule(stored []byte, r TreeRule) ([]byte, error) {
	edited, err := editMembers(stored, r.AppendTo(nil))
	if err != nil {
		return nil, fmt.Errorf("edit tree rule %.100q: %w", stored, err)
	}
	return edited, nil
}

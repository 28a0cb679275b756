package adapter

import (
	"errors"
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// treeAPI shows the trees of a running adapter:
//
//	GET /api/v1/status/trees                         the trees, their rules and how many leaves they have
//	GET /api/v1/status/trees/test?name=N[&tree=T]... how a series is routed; tree is an id or a name, repeatable
//	GET /api/v1/status/trees/show[?tree=T&path=P&depth=N]   what "tree show" prints
//	POST /api/v1/admin/trees/sync                    appends the existing series to all trees, in the background
//
// With format=text, test answers what "tree test" prints.
type treeAPI struct {
	treeExplainer
	follower *tree.Follower
}

// treeStatus is the answer about all trees.
type treeStatus struct {
	Trees    []treeState  `json:"trees"`
	Broken   []brokenTree `json:"broken"`
	Branches int          `json:"branches"` // in the index
	Leaves   int          `json:"leaves"`
	// series found in addition to the leaves, whose names share a hash with others
	CollidedLeaves int       `json:"strays"`
	Loaded         bool      `json:"loaded"` // the index is complete
	Sync           syncState `json:"sync"`
}

// treeState is a tree in the words of OpenTSDB's API.
type treeState struct {
	ID            uint16      `json:"treeId"`
	Name          string      `json:"name"`
	Description   string      `json:"description"`
	Enabled       bool        `json:"enabled"`
	StrictMatch   bool        `json:"strictMatch"`
	StoreFailures bool        `json:"storeFailures"`
	Rules         []ruleState `json:"rules"`
	Default       bool        `json:"default"` // names without tags are found in it
	// why no dotted names become metric and tags by it
	NoInverse string `json:"noInverse,omitempty"`
	// render returns several series of a path as their sum
	Sum bool `json:"sum,omitempty"`
	// Collided are the series whose path another series had first, CollidedPath one such path.
	Collided     int    `json:"collidedSeries"`
	CollidedPath string `json:"collidedPath,omitempty"`
}

type ruleState struct {
	Level         int    `json:"level"`
	Order         int    `json:"order"`
	Type          string `json:"type"`
	Field         string `json:"field,omitempty"`
	CustomField   string `json:"customField,omitempty"`
	Regex         string `json:"regex,omitempty"`
	RegexGroupIdx int    `json:"regexGroupIdx"`
	Separator     string `json:"separator,omitempty"`
	DisplayFormat string `json:"displayFormat,omitempty"`
}

type brokenTree struct {
	ID    uint16 `json:"treeId"`
	Name  string `json:"name"`
	Error string `json:"error"`
}

// status lists the trees.
func (a *treeAPI) status(w http.ResponseWriter, _ *http.Request) {
	now := a.forest.Status()
	s := treeStatus{
		Trees: []treeState{}, Broken: []brokenTree{}, Branches: now.Branches, Leaves: now.Leaves, CollidedLeaves: now.CollidedLeaves, Loaded: now.Loaded,
	}
	if a.follower != nil {
		s.Sync = newSyncState(a.follower)
	}
	for _, t := range a.forest.Trees() {
		s.Trees = append(s.Trees, newTreeState(t, now.Trees))
	}
	for _, b := range a.forest.Broken() {
		s.Broken = append(s.Broken, brokenTree{b.ID, b.Name, b.Err.Error()})
	}
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: s})
}

func newTreeState(t *tree.Tree, now []tree.TreeStatus) treeState {
	d := t.Definition()
	s := treeState{
		ID: t.ID(), Name: d.Name, Description: d.Description, Enabled: d.Enabled, StrictMatch: d.StrictMatch,
		StoreFailures: d.StoreFailures, Rules: []ruleState{}, Sum: t.Display().Sum,
	}
	for _, is := range now {
		if is.ID == s.ID {
			s.Collided, s.CollidedPath = is.Shared.Series, is.Shared.Path
			if s.Default = is.Default; is.Inverse != nil {
				s.NoInverse = is.Inverse.Error()
			}
		}
	}
	for _, r := range t.Rules() {
		s.Rules = append(s.Rules, newRuleState(r))
	}
	return s
}

func newRuleState(r schema.TreeRule) ruleState {
	return ruleState{
		Level: r.Level, Order: r.Order, Type: r.Type, Field: r.Field, CustomField: r.CustomField, Regex: r.Regex,
		RegexGroupIdx: r.RegexGroupIdx, Separator: r.Separator, DisplayFormat: r.DisplayFormat,
	}
}

// test routes the series of a name.
func (a *treeAPI) test(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		badRequest(w, err)
		return
	}
	routed, err := a.explain(r.Context(), r.Form.Get("name"), r.Form["tree"])
	switch {
	case err == nil && r.Form.Get("format") == "text":
		replyRouting(w, routed)
	case err == nil:
		reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: routed})
	case errors.Is(err, storage.ErrInvalid):
		badRequest(w, err)
	case errors.Is(err, errNoTree):
		reply.JSON(w, http.StatusNotFound, reply.Frame{Status: "error", ErrorType: "not_found", Error: err.Error()})
	default:
		reply.JSON(w, http.StatusServiceUnavailable, reply.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
	}
}

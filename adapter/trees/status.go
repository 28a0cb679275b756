package trees

import (
	"errors"
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Status is the answer about all trees.
type Status struct {
	Trees    []state  `json:"trees"`
	Broken   []broken `json:"broken"`
	Branches int      `json:"branches"` // in the index
	Leaves   int      `json:"leaves"`
	// series found in addition to the leaves, whose names share a hash with others
	CollidedLeaves int       `json:"strays"`
	Loaded         bool      `json:"loaded"` // the index is complete
	Sync           SyncState `json:"sync"`
}

// state is a tree in the words of OpenTSDB's API.
type state struct {
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

type broken struct {
	ID    uint16 `json:"treeId"`
	Name  string `json:"name"`
	Error string `json:"error"`
}

// status lists the trees.
func (a *API) status(w http.ResponseWriter, _ *http.Request) {
	now := a.Forest.Status()
	s := Status{
		Trees: []state{}, Broken: []broken{}, Branches: now.Branches, Leaves: now.Leaves, CollidedLeaves: now.CollidedLeaves, Loaded: now.Loaded,
	}
	if a.Follower != nil {
		s.Sync = newSyncState(a.Follower)
	}
	for _, t := range a.Forest.Trees() {
		s.Trees = append(s.Trees, newState(t.Tree, now.Trees))
	}
	for _, b := range a.Forest.Broken() {
		s.Broken = append(s.Broken, broken{b.ID, b.Name, b.Err.Error()})
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: s})
}

func newState(t *tree.Tree, now []forest.TreeStatus) state {
	d := t.Definition()
	s := state{
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
func (a *API) test(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	routed, err := a.Explain(r.Context(), r.Form.Get("name"), r.Form["tree"])
	switch {
	case err == nil && r.Form.Get("format") == "text":
		replyRouting(w, routed)
	case err == nil:
		httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: routed})
	case errors.Is(err, storage.ErrInvalid):
		httpapi.BadRequest(w, err)
	case errors.Is(err, ErrNoTree):
		httpapi.JSON(w, http.StatusNotFound, httpapi.Frame{Status: "error", ErrorType: "not_found", Error: err.Error()})
	default:
		httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
	}
}

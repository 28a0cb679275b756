// Package trees answers /api/tree of OpenTSDB's HTTP API: definitions, rules, branches, and what becomes of
// series in a tree. It places no series itself.
package trees

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Series names series; a catalog does. Those of which a UID has no name are left out.
type Series interface {
	NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
}

// Documents returns OpenTSDB's documents of series, nil for a series without one.
type Documents interface {
	DescribeSeries(ctx context.Context, tsuids [][]byte) ([]*schema.DescribedSeries, error)
}

// Options are what an API needs.
type Options struct {
	Trees     *forest.Editor // nil: there are none
	Series    Series
	Documents Documents
	Logger    *slog.Logger
	Now       func() time.Time
}

// An API answers /api/tree and what is below it.
type API struct {
	o         Options
	edits     httpapi.Edits
	evaluator *evaluation.Evaluator
}

// New returns an API.
func New(o Options, edits httpapi.Edits, evaluator *evaluation.Evaluator) *API {
	return &API{o, edits, evaluator}
}

// Serve answers /api/tree and what is below it. Statuses and texts are those of OpenTSDB 2.4 TreeRpc,
// whose parts each refuse other methods.
func (a *API) Serve(w http.ResponseWriter, r *httpapi.Request) error {
	what := r.Below()
	answer, ok := map[string]func(http.ResponseWriter, *httpapi.Request) error{
		"": a.treeDefinition, "branch": a.treeBranch, "rule": a.treeRule, "rules": a.treeRules, "test": a.treeTest,
		"collisions": a.treeCollisions, "notmatched": a.treeNotMatched,
	}[what]
	if !ok || a.o.Trees == nil {
		return httpapi.Error{Status: http.StatusNotFound, Message: "This endpoint is not supported"}
	}
	if editsTrees(what, r.Verb) {
		if err := a.edits.Check(r.Request); err != nil {
			return err
		}
	}
	return treeError(answer(w, r))
}

// editsTrees reports whether a method changes a tree. The others only ask, whatever their method.
func editsTrees(what, method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodDelete:
		return what == "" || what == "rule" || what == "rules"
	}
	return false
}

// Deletes reports whether a request may take as long as its client waits: a tree may be a large one.
func Deletes(path httpapi.Path, method string) bool {
	return path.Endpoint == "tree" && method == http.MethodDelete
}

// treeError returns the answer to an error about trees.
func treeError(err error) error {
	switch {
	case errors.Is(err, forest.ErrDeclared):
		return httpapi.Error{Status: http.StatusForbidden, Message: "The tree is declared in the configuration", Details: err.Error()}
	case errors.Is(err, forest.ErrNoTree): // it was deleted meanwhile
		return httpapi.Error{Status: http.StatusNotFound, Message: "Unable to locate tree", Details: err.Error()}
	}
	return err
}

// errTreeMethod refuses a method.
var errTreeMethod = httpapi.BadRequest("Unsupported HTTP request method")

// errTreeID refuses a number that no tree can have.
var errTreeID = httpapi.Illegal("Invalid Tree ID")

// definition returns the tree of a number that a client sent.
func (a *API) definition(ctx context.Context, id int) (tree.Definition, error) {
	if id < 1 || id > schema.MaxTreeID {
		return tree.Definition{}, errTreeID
	}
	d, err := a.o.Trees.Get(ctx, uint16(id))
	if errors.Is(err, forest.ErrNoTree) {
		return d, httpapi.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("Unable to locate tree: %d", id)}
	}
	return d, err
}

// unreadable refuses JSON for which a TSD has a status of its own failures.
func unreadable(err error) error {
	return httpapi.Error{Status: http.StatusInternalServerError, Message: "Unable to parse the given JSON", Details: err.Error()}
}

// unchanged answers a request that would change nothing.
func unchanged(w http.ResponseWriter) { w.WriteHeader(http.StatusNotModified) }

// done answers a request that leaves nothing to show.
func done(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

// number reads a number of 32 bits.
func number(text, message string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, httpapi.Error{Status: http.StatusBadRequest, Message: message, Details: fmt.Sprintf("For input string: %q", text)}
	}
	return int(n), nil
}

// treeID returns the parameter treeid, 0 without one.
func treeID(v httpapi.Values) (int, error) {
	text, given := v.Last("treeid")
	if !given {
		return 0, nil
	}
	return number(text, "Unable to parse 'tree' value")
}

// requiredTreeID returns the parameter treeid, which must be there.
func requiredTreeID(v httpapi.Values) (int, error) {
	if _, err := v.Required("treeid"); err != nil {
		return 0, err
	}
	return treeID(v)
}

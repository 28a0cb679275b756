// Package uids answers /api/uid of OpenTSDB's HTTP API: it assigns UIDs, renames, and shows and edits the
// documents of UIDs and series.
package uids

import (
	"context"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Names looks names up and assigns UIDs.
type Names interface {
	Lookup(ctx context.Context, kind storage.NameKind, names []string) ([]string, error)
	// Assign returns the UIDs of names, in order; errs is nil or has an error for each name.
	Assign(ctx context.Context, kind storage.NameKind, names []string) (uids []string, errs []error)
}

// Points knows when series had their newest points.
type Points interface {
	Newest(ctx context.Context, tsuids [][]byte) ([]int64, error)
}

// Options are what an API needs. MaxSeries is how many series one answer may show; 0: no limit.
// SpecialChars are characters that names may have in addition to a TSD's.
type Options struct {
	Names        Names
	Renamer      Renamer
	Metadata     Metadata
	Points       Points
	Layout       schema.Layout
	MaxSeries    int
	SpecialChars string
}

// An API answers /api/uid.
type API struct {
	o         Options
	edits     httpapi.Edits
	evaluator *evaluation.Evaluator
}

// New returns an API.
func New(o Options, edits httpapi.Edits, evaluator *evaluation.Evaluator) *API {
	return &API{o, edits, evaluator}
}

// Serve answers /api/uid/….
func (a *API) Serve(w http.ResponseWriter, r *httpapi.Request) error {
	switch r.Below() {
	case "assign":
		return a.assign(w, r)
	case "uidmeta":
		return a.uidMeta(w, r)
	case "tsmeta":
		return a.tsMeta(w, r)
	case "rename":
		return a.rename(w, r)
	}
	return httpapi.Error{Status: http.StatusNotImplemented, Message: "Other UID endpoints have not been implemented yet"}
}

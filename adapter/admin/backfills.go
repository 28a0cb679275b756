package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// backfillPath fills the recording rules of a file, a BackfillRequest. The answer is lines of text.
const backfillPath = prom.APIPrefix + "/admin/rules/backfill"

// maxBackfillBytes bounds the body of a request.
const maxBackfillBytes = 32 << 20

// A BackfillRequest is what a running adapter is asked to fill.
type BackfillRequest struct {
	File       string
	Text       string
	Start, End time.Time
	Interval   time.Duration // of groups without one
}

// A Ruler evaluates rules by a configuration.
type Ruler interface {
	ParseRules(file, text string, interval time.Duration) (*rules.Set, error)
	Backfill(ctx context.Context, b rules.Backfill) error
}

// Backfills fill recording rules for the past in a running adapter.
type Backfills struct {
	failer
	ready func(context.Context) error
	ruler func() Ruler
}

// NewBackfills returns those of an adapter. Each asks for the ruler once.
func NewBackfills(logger *slog.Logger, ready func(context.Context) error, ruler func() Ruler) *Backfills {
	return &Backfills{failer{logger}, ready, ruler}
}

// Handlers implements Operations.
func (b *Backfills) Handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{backfillPath: b.fill}
}

func (b *Backfills) fill(w http.ResponseWriter, r *http.Request) {
	var q BackfillRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBackfillBytes)).Decode(&q); err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	ruler := b.ruler()
	set, err := ruler.ParseRules(q.File, q.Text, q.Interval)
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	if err := b.ready(r.Context()); err != nil {
		b.fail(w, r, err)
		return
	}
	lines := newLineWriter(w)
	err = ruler.Backfill(r.Context(), rules.Backfill{Set: set, Start: q.Start, End: q.End, Progress: func(group string, done, all, samples int) error {
		return lines.text(fmt.Sprintf("%s: group %q: %d of %d instants, %d samples", q.File, group, done, all, samples))
	}})
	if err != nil {
		b.logger.WarnContext(r.Context(), "a backfill of rules ended with an error; what it reported before is stored, and it may be run again", "file", q.File, "err", err)
	}
	lines.end(0, err)
}

// RemoteBackfill has a running adapter fill rules.
type RemoteBackfill struct{ Base string }

// Fill fills the rules of a request, and prints how far it is.
func (b RemoteBackfill) Fill(ctx context.Context, q BackfillRequest, printLine func(string) error) error {
	req, err := jsonRequest(ctx, b.Base, backfillPath, q)
	if err != nil {
		return err
	}
	_, err = readText(req, printLine)
	return err
}

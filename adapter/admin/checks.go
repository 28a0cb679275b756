package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// A running adapter checks the tables that it has open, stretch by stretch:
//
//	POST /api/v1/admin/fsck/plan    checkRequest → the stretches
//	POST /api/v1/admin/fsck/check   checkRequest → lines, each a step
const (
	planPath  = prom.APIPrefix + "/admin/fsck/plan"
	checkPath = prom.APIPrefix + "/admin/fsck/check"
)

// checkRequest is the body of a request.
type checkRequest struct {
	Query   fsck.Query   `json:"query"`
	N       int          `json:"n,omitempty"` // of plan: how many stretches
	Stretch fsck.Stretch `json:"stretch"`     // of check
}

// A stepLine is a line of an answer.
type stepLine struct{ *fsck.Step }

// checksAtOnce bounds the stretches that an adapter checks at once; others wait.
const checksAtOnce = 16

// Checks check the tables of a running adapter.
type Checks struct {
	failer
	store  *store.Store
	source func() fsck.Source
	slots  chan struct{}
}

// NewChecks returns those of a store.
func NewChecks(logger *slog.Logger, store *store.Store, source func() fsck.Source) *Checks {
	return &Checks{failer{logger}, store, source, make(chan struct{}, checksAtOnce)}
}

// Handlers implements Operations.
func (c *Checks) Handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{planPath: c.plan, checkPath: c.check}
}

// request reads a request; false: it was answered.
func (c *Checks) request(w http.ResponseWriter, r *http.Request) (asked checkRequest, ok bool) {
	err := readJSON(r.Body, &asked)
	if err == nil && (asked.N < 0 || asked.N > fsck.MaxParallel*fsck.MaxParallel) {
		err = fmt.Errorf("%w: %d stretches", storage.ErrInvalid, asked.N)
	}
	if err == nil {
		err = c.store.Ready(r.Context())
	}
	if err != nil {
		c.refuse(w, r, err)
	}
	return asked, err == nil
}

// plan answers with the stretches of a check.
func (c *Checks) plan(w http.ResponseWriter, r *http.Request) {
	asked, ok := c.request(w, r)
	if !ok {
		return
	}
	stretches, err := c.source().Plan(r.Context(), asked.Query, asked.N)
	if errors.Is(err, fsck.ErrUnknown) {
		httpapi.BadRequest(w, err)
		return
	}
	c.answer(w, r, stretches, err)
}

// check checks a stretch and answers while it does.
func (c *Checks) check(w http.ResponseWriter, r *http.Request) {
	asked, ok := c.request(w, r)
	if !ok {
		return
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-r.Context().Done():
		return
	}
	lines := newLineWriter(w)
	err := c.source().Check(r.Context(), asked.Stretch, asked.Query, func(step fsck.Step) error { return lines.write(stepLine{&step}) })
	if err != nil {
		c.logger.WarnContext(r.Context(), "rows cannot be checked; see /-/ready if the tables are away", "table", asked.Stretch.Table, "err", err)
	}
	lines.end(0, err)
}

// RemoteChecker checks by way of a running adapter.
type RemoteChecker struct{ Base string }

// Plan implements fsck.Source.
func (c RemoteChecker) Plan(ctx context.Context, q fsck.Query, n int) (stretches []fsck.Stretch, err error) {
	req, err := jsonRequest(ctx, c.Base, planPath, checkRequest{Query: q, N: n})
	if err != nil {
		return nil, err
	}
	return stretches, answerOf(req, &stretches)
}

// Check implements fsck.Source.
func (c RemoteChecker) Check(ctx context.Context, s fsck.Stretch, q fsck.Query, report func(fsck.Step) error) error {
	req, err := jsonRequest(ctx, c.Base, checkPath, checkRequest{Query: q, Stretch: s})
	if err != nil {
		return err
	}
	_, err = readLines(req, func(line stepLine) error {
		if line.Step == nil {
			return fmt.Errorf("%s answers with what is no step", req.URL.Redacted())
		}
		return report(*line.Step)
	})
	return err
}

package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
)

// A running adapter checks the tables that it has open, stretch by stretch:
//
//	POST /api/v1/admin/fsck/plan    fsckRequest → the stretches
//	POST /api/v1/admin/fsck/check   fsckRequest → lines of JSON, fsckLine, while it goes on
const (
	fsckPlanPath  = prom.APIPrefix + "/admin/fsck/plan"
	fsckCheckPath = prom.APIPrefix + "/admin/fsck/check"
)

// fsckRequest is the body of a request.
type fsckRequest struct {
	Query   fsck.Query   `json:"query"`
	N       int          `json:"n,omitempty"` // of plan: how many stretches
	Stretch fsck.Stretch `json:"stretch"`     // of check
}

// fsckLine is a line of an answer: a step, or the end, which comes once and last.
type fsckLine struct {
	*fsck.Step
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// fsckAtOnce bounds the stretches that an adapter checks at once; others wait.
const fsckAtOnce = 16

// fsckAPI checks the tables of a running adapter.
type fsckAPI struct {
	source func() fsck.Source
	slots  chan struct{}
}

func newFsckAPI(a *Adapter) *fsckAPI {
	return &fsckAPI{source: func() fsck.Source { return a.checkers(false) }, slots: make(chan struct{}, fsckAtOnce)}
}

// fsckRequestOf reads a request; false: it was answered.
func (a *adminAPI) fsckRequestOf(w http.ResponseWriter, r *http.Request) (fsckRequest, bool) {
	var asked fsckRequest
	err := json.NewDecoder(r.Body).Decode(&asked)
	if err == nil && (asked.N < 0 || asked.N > maxParallelFsck*maxParallelFsck) {
		err = fmt.Errorf("%d stretches", asked.N)
	}
	if err != nil {
		reply.BadRequest(w, err)
		return asked, false
	}
	if err := a.store.Ready(r.Context()); err != nil {
		a.fail(w, r, err)
		return asked, false
	}
	return asked, true
}

// planFsck answers with the stretches of a check.
func (a *adminAPI) planFsck(w http.ResponseWriter, r *http.Request) {
	asked, ok := a.fsckRequestOf(w, r)
	if !ok {
		return
	}
	stretches, err := a.fsck.source().Plan(r.Context(), asked.Query, asked.N)
	switch {
	case errors.Is(err, fsck.ErrUnknown):
		reply.BadRequest(w, err)
	case err != nil:
		a.fail(w, r, err)
	default:
		reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: stretches})
	}
}

// checkFsck checks a stretch and answers while it does.
func (a *adminAPI) checkFsck(w http.ResponseWriter, r *http.Request) {
	asked, ok := a.fsckRequestOf(w, r)
	if !ok {
		return
	}
	select {
	case a.fsck.slots <- struct{}{}:
		defer func() { <-a.fsck.slots }()
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines, flush := json.NewEncoder(w), http.NewResponseController(w)
	err := a.fsck.source().Check(r.Context(), asked.Stretch, asked.Query, func(step fsck.Step) error {
		return errors.Join(lines.Encode(fsckLine{Step: &step}), flush.Flush())
	})
	end := fsckLine{Done: true}
	if err != nil {
		a.o.Logger.WarnContext(r.Context(), "rows cannot be checked; see /-/ready if the tables are away", "table", asked.Stretch.Table, "err", err)
		end = fsckLine{Error: err.Error()}
	}
	_ = lines.Encode(end) // the client misses it if it cannot be sent
}

// remoteFsck checks by way of a running adapter.
type remoteFsck struct{ base string }

// Plan implements fsck.Source.
func (f remoteFsck) Plan(ctx context.Context, q fsck.Query, n int) (stretches []fsck.Stretch, err error) {
	req, err := admin.JSONRequest(ctx, f.base, fsckPlanPath, fsckRequest{Query: q, N: n})
	if err != nil {
		return nil, err
	}
	return stretches, admin.AnswerOf(req, &stretches)
}

// Check implements fsck.Source.
func (f remoteFsck) Check(ctx context.Context, s fsck.Stretch, q fsck.Query, report func(fsck.Step) error) error {
	req, err := admin.JSONRequest(ctx, f.base, fsckCheckPath, fsckRequest{Query: q, Stretch: s})
	if err != nil {
		return err
	}
	resp, err := admin.OpenAnswer(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var line fsckLine
		switch err := lines.Decode(&line); {
		case err != nil:
			return fmt.Errorf("read the answer of %s: %w", req.URL.Redacted(), err)
		case line.Error != "":
			return errors.New(line.Error)
		case line.Done:
			return nil
		case line.Step == nil:
			return fmt.Errorf("%s answers with what is no step", req.URL.Redacted())
		}
		if err := report(*line.Step); err != nil {
			return err
		}
	}
}

package adapter

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Paths of the requests about trees. The first is of the admin API.
const (
	treeSyncPath   = prom.APIPrefix + "/admin/trees/sync"
	treeStatusPath = prom.APIPrefix + "/status/trees"
	treeTestPath   = treeStatusPath + "/test"
	treeShowPath   = treeStatusPath + "/show"
	treeTryPath    = treeStatusPath + "/try"
	treeBrowsePath = "/api/v1/status/trees/browse"
)

// syncState is how many of the existing series are on the trees.
type syncState struct {
	Running bool     `json:"running"`
	Trees   []string `json:"trees"`    // of the pass that is running, or ran last
	Waiting []string `json:"waiting"`  // trees that lack existing series
	Series  int      `json:"series"`   // done in this pass
	Of      int      `json:"of"`       // about how many there are
	Passes  int      `json:"passes"`   // that have ended
	At      string   `json:"position"` // the last TSUID that is done
	Report  string   `json:"report"`
	Error   string   `json:"error,omitempty"`
}

func newSyncState(f *tree.Follower) syncState {
	now := f.State()
	s := syncState{
		Running: now.Running, Trees: orNone(now.Trees), Waiting: orNone(now.Waiting), Series: now.Report.Series, Of: now.Of, Passes: now.Passes,
		At: schema.FormatTSUID(now.Report.Position),
	}
	if now.Passes > 0 || now.Running {
		s.Report = now.Report.String()
	}
	if now.Err != nil {
		s.Error = now.Err.Error()
	}
	return s
}

// orNone returns a list that is never null in JSON.
func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// sync starts to append the existing series to all trees.
func (a *treeAPI) sync(r *http.Request) (any, error) {
	so := tree.DefaultSyncOptions()
	so.Rows = r.FormValue("rows") == "true"
	var err error
	if so.From, err = hex.DecodeString(r.FormValue("from")); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	if parallel := r.FormValue("parallel"); parallel != "" {
		if so.Parallel, err = strconv.Atoi(parallel); err != nil || so.Parallel < 1 || so.Parallel > maxSyncParallel {
			return nil, fmt.Errorf("parallel=%s: want a number from 1 to %d", parallel, maxSyncParallel)
		}
	}
	if err := a.follower.Ask(so); err != nil {
		return nil, err
	}
	return newSyncState(a.follower), nil
}

// maxSyncParallel bounds the parallelism that a request may ask for.
const maxSyncParallel = 64

// treeShower prints trees of a running adapter, for one caller at a time: it may read a whole tree.
type treeShower struct {
	tool *treeTool
	busy sync.Mutex
}

// serve answers with what "tree show" prints.
func (s *treeShower) serve(w http.ResponseWriter, r *http.Request) {
	depth := 1
	if text := r.FormValue("depth"); text != "" {
		var err error
		if depth, err = strconv.Atoi(text); err != nil || depth < 0 {
			http.Error(w, "depth: want a number from 0 on", http.StatusBadRequest)
			return
		}
	}
	if !s.busy.TryLock() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the trees are being shown to another caller", http.StatusServiceUnavailable)
		return
	}
	defer s.busy.Unlock()
	out := &replyText{w: w}
	switch err := s.tool.show(r.Context(), r.FormValue("tree"), r.FormValue("path"), depth, out); {
	case err == nil:
	case out.began:
		panic(http.ErrAbortHandler) // cut off, so that the answer does not look complete
	case errors.Is(err, errNoTree):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, storage.ErrInvalid):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, storage.ErrLimit):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// replyText is a reply of plain text.
type replyText struct {
	w     http.ResponseWriter
	began bool
}

func (t *replyText) Write(b []byte) (int, error) {
	if !t.began {
		t.began = true
		t.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	return t.w.Write(b)
}

// replyRouting answers with what "tree test" prints.
func replyRouting(w http.ResponseWriter, routed routing) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(w, strings.NewReader(routed.String()))
}

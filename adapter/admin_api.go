package adapter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Paths of the admin API. The first is Prometheus' own. Without --web.enable-admin-api the query
// API answers that they are not served.
const (
	snapshotPath = prom.APIPrefix + "/admin/tsdb/snapshot"
	compactPath  = prom.APIPrefix + "/admin/tsdb/compact"
	cleanPath    = prom.APIPrefix + "/admin/tsdb/clean_tombstones"
)

// snapshotsDir is the directory of snapshots in --storage.path, as in Prometheus' data directory.
const snapshotsDir = "snapshots"

// adminAPI runs operations that need the store of a running adapter, since no other process can
// open it.
type adminAPI struct {
	o      Options
	store  *storage.Store
	engine kv.KV
	busy   sync.Mutex // held by the one operation under way

	syncTrees  func(*http.Request) (any, error)
	transfers  *admin.Transfers
	operations []admin.Operations
}

// snapshotReply and compactReply are the data of answers.
type (
	snapshotReply struct {
		Name string `json:"name"` // of a directory in snapshots in --storage.path
	}
	compactReply struct {
		Before uint64 `json:"bytesBefore"`
		After  uint64 `json:"bytesAfter"`
	}
)

func (a *adminAPI) mount(r chi.Router) {
	r.Method(http.MethodPost, admin.ToldPath, http.NewCrossOriginProtection().Handler(http.HandlerFunc(a.transfers.Told)))
	for path, serve := range map[string]func(*http.Request) (any, error){snapshotPath: a.snapshot, compactPath: a.compact, cleanPath: a.clean, trees.SyncPath: a.syncTrees} {
		// A page of another origin cannot have a browser start an operation.
		handler := http.NewCrossOriginProtection().Handler(a.alone(serve))
		r.HandleFunc(path, notAllowedBut("POST, PUT")) // otherwise the API of Prometheus' module would answer
		r.Method(http.MethodPost, path, handler)
		r.Method(http.MethodPut, path, handler)
	}
	for _, o := range a.operations {
		for path, serve := range o.Handlers() {
			r.Method(http.MethodPost, path, http.NewCrossOriginProtection().Handler(a.transfers.Watched(path, serve)))
		}
	}
}

// fail answers a request that failed.
func (a *adminAPI) fail(w http.ResponseWriter, r *http.Request, err error) {
	admin.Fail(a.o.Logger, w, r, err)
}

// notAllowedBut refuses a request, since only other methods are allowed.
func notAllowedBut(methods string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", methods)
		http.Error(w, "method "+r.Method+" is not allowed here", http.StatusMethodNotAllowed)
	}
}

// alone answers with the result of serve, 204 if there is none, unless another operation is under way.
func (a *adminAPI) alone(serve func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !a.busy.TryLock() {
			a.fail(w, r, errors.New("another snapshot or compaction is under way"))
			return
		}
		defer a.busy.Unlock()
		data, err := serve(r)
		switch {
		case storage.IsRefusal(err):
			reply.BadRequest(w, err)
			return
		case err != nil:
			a.fail(w, r, err)
			return
		}
		if data == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: data})
	}
}

// snapshot copies the store. It ignores Prometheus' skip_head: the copy contains everything
// acknowledged.
func (a *adminAPI) snapshot(r *http.Request) (any, error) {
	if err := a.o.wantEmbedded("a snapshot"); err != nil {
		return nil, err
	}
	if skip := r.FormValue("skip_head"); skip != "" {
		if _, err := strconv.ParseBool(skip); err != nil {
			return nil, fmt.Errorf("%w: parameter \"skip_head\": unable to parse boolean: %w", storage.ErrInvalid, err)
		}
	}
	begin := a.o.Now()
	name := fmt.Sprintf("%s-%016x", a.o.Now().UTC().Format("20060102T150405Z0700"), rand.Int64())
	if err := a.store.Backup(r.Context(), filepath.Join(a.o.Path, snapshotsDir, name)); err != nil {
		return nil, err
	}
	a.o.Logger.InfoContext(r.Context(), "snapshot made", "name", name)
	a.o.noteBackup("snapshot", filepath.Join(a.o.Path, snapshotsDir, name), "", begin)
	return snapshotReply{name}, nil
}

func (a *adminAPI) compact(r *http.Request) (any, error) {
	if err := a.o.wantEmbedded("compaction"); err != nil {
		return nil, err
	}
	reply := compactReply{Before: diskBytes(a.engine)}
	if err := compactAll(r.Context(), a.engine, a.o); err != nil {
		return nil, err
	}
	reply.After = diskBytes(a.engine)
	a.o.Logger.InfoContext(r.Context(), "store compacted", "bytes_before", reply.Before, "bytes_after", reply.After)
	return reply, nil
}

// clean gives the space of what was deleted back, as Prometheus' API has it: a compaction, answered
// with 204.
func (a *adminAPI) clean(r *http.Request) (any, error) {
	_, err := a.compact(r)
	return nil, err
}

// wantEmbedded returns an error for other engines, which names their own way to do it.
func (o Options) wantEmbedded(what string) error {
	switch o.Engine {
	case EngineEmbedded:
		return nil
	case EngineHBase:
		return fmt.Errorf("%s is for the embedded engine; HBase has its own: snapshot, restore_snapshot and major_compact in its shell", what)
	}
	return fmt.Errorf("%s is for the embedded engine, not for --storage.engine=%s", what, o.Engine)
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/tsdbridge/tsdbridge/adapter/backups"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// Paths of operations on the files of an embedded store. The first is Prometheus' own. Without --web.enable-admin-api the query
// API answers that they are not served.
const (
	snapshotPath = prom.APIPrefix + "/admin/tsdb/snapshot"
	compactPath  = prom.APIPrefix + "/admin/tsdb/compact"
	cleanPath    = prom.APIPrefix + "/admin/tsdb/clean_tombstones"
)

// snapshotReply is the data of an answer.
type snapshotReply struct {
	Name string `json:"name"` // of a folder among the snapshots
}

// Sizes are those of a store before and after its compaction, in bytes.
type Sizes struct {
	Before uint64 `json:"bytesBefore"`
	After  uint64 `json:"bytesAfter"`
}

// StoreFiles are the files of an embedded store that an adapter has open.
type StoreFiles struct {
	Logger  *slog.Logger
	Store   *store.Store
	Engine  kv.KV
	Tables  []kv.Table
	Backups backups.Record
	// Want returns an error for engines without files, which names their own way to do something.
	Want func(what string) error
}

// Exclusive returns the operations.
func (f StoreFiles) Exclusive() Exclusive {
	return Exclusive{snapshotPath: f.snapshot, compactPath: f.compact, cleanPath: f.clean}
}

// snapshot copies the store. It ignores Prometheus' skip_head: the copy contains everything
// acknowledged.
func (f StoreFiles) snapshot(r *http.Request) (any, error) {
	if err := f.Want("a snapshot"); err != nil {
		return nil, err
	}
	if skip := r.FormValue("skip_head"); skip != "" {
		if _, err := strconv.ParseBool(skip); err != nil {
			return nil, fmt.Errorf("%w parameter \"skip_head\": unable to parse boolean: %w", storage.ErrInvalid, err)
		}
	}
	begin := f.Backups.Now()
	name := fmt.Sprintf("%s-%016x", begin.UTC().Format("20060102T150405Z0700"), rand.Int64())
	dir := filepath.Join(f.Backups.Snapshots(), name)
	if err := f.Store.Backup(r.Context(), dir); err != nil {
		return nil, err
	}
	f.Logger.InfoContext(r.Context(), "snapshot made", "name", name)
	f.Backups.Note(backups.Snapshot, dir, "", begin)
	return snapshotReply{name}, nil
}

func (f StoreFiles) compact(r *http.Request) (any, error) {
	if err := f.Want("compaction"); err != nil {
		return nil, err
	}
	sizes, err := Compact(r.Context(), f.Engine, f.Tables)
	if err != nil {
		return nil, err
	}
	f.Logger.InfoContext(r.Context(), "store compacted", "bytes_before", sizes.Before, "bytes_after", sizes.After)
	return sizes, nil
}

// clean gives the space of what was deleted back, as Prometheus' API has it: a compaction, answered
// with 204. HBase compacts after the answer, in its own time.
func (f StoreFiles) clean(r *http.Request) (any, error) {
	if engine, ok := f.Engine.(majorCompacter); ok {
		return nil, f.compactShared(r.Context(), engine)
	}
	_, err := f.compact(r)
	return nil, err
}

// A majorCompacter is an engine that asks other processes to rewrite a table without what was deleted.
type majorCompacter interface {
	MajorCompact(ctx context.Context, table string) (regions int, err error)
}

// compactShared has all tables compacted. One that fails does not keep the others from it.
func (f StoreFiles) compactShared(ctx context.Context, engine majorCompacter) error {
	regions := 0
	var errs []error
	for _, t := range f.Tables {
		n, err := engine.MajorCompact(ctx, t.Name)
		regions += n
		errs = append(errs, err)
	}
	f.Logger.InfoContext(ctx, "major compactions requested", "regions", regions, "tables", len(f.Tables))
	return errors.Join(errs...)
}

// Compact compacts the tables of an embedded store.
func Compact(ctx context.Context, db kv.KV, tables []kv.Table) (sizes Sizes, err error) {
	engine := kv.NewEngine(db, true).Local
	if engine == nil {
		return sizes, errors.New("only the embedded engine compacts its tables by itself")
	}
	sizes.Before = engine.DiskBytes()
	for _, t := range tables {
		if err := engine.Compact(ctx, t.Name); err != nil {
			return sizes, err
		}
	}
	sizes.After = engine.DiskBytes()
	return sizes, nil
}

// RemoteStore is an embedded store that a running adapter has open.
type RemoteStore struct{ Base string }

// Compact compacts the store.
func (s RemoteStore) Compact(ctx context.Context) (sizes Sizes, err error) {
	err = Call(ctx, s.Base, compactPath, &sizes)
	return sizes, err
}

// Snapshot makes a snapshot and returns the name of its folder.
func (s RemoteStore) Snapshot(ctx context.Context) (name string, err error) {
	var made snapshotReply
	if err := Call(ctx, s.Base, snapshotPath, &made); err != nil {
		return "", err
	}
	// The name comes from another process and must not lead out of the folder.
	if made.Name == "" || made.Name != filepath.Base(made.Name) {
		return "", fmt.Errorf("%s answers with a snapshot named %q", s.Base, made.Name)
	}
	return made.Name, nil
}

// Package backups keeps the record of the backups of an embedded store: when they were made, and what verifications found. It
// makes none.
package backups

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// Path lists the backups that were made of the embedded store, the last one first.
const Path = "/api/v1/status/backups"

// fileName is the file among the snapshots that records the last most backups.
const (
	fileName = "backups.json"
	most     = 100
)

// Snapshot and Backup are how backups are made: by the admin API, and by the command.
const (
	Snapshot = "snapshot"
	Backup   = "backup"
)

// A Record is the record of a store's backups.
type Record struct {
	Store  string // its path
	Now    func() time.Time
	Logger *slog.Logger
}

// Snapshots returns the folder of snapshots in the store, as in Prometheus' data directory. The record is in it.
func (r Record) Snapshots() string { return filepath.Join(r.Store, "snapshots") }

func (r Record) file() string { return filepath.Join(r.Snapshots(), fileName) }

// A made is a backup that was made.
type made struct {
	At      time.Time `json:"at"`
	Path    string    `json:"path"`
	Kind    string    `json:"kind"` // Snapshot or Backup
	Bytes   int64     `json:"bytes"`
	Seconds float64   `json:"seconds"`
}

// shown is a backup in the answer.
type shown struct {
	made

	There    bool      `json:"there"`              // this machine has the folder still
	Verified *verified `json:"verified,omitempty"` // what the last verification found
}

// answer is the data of the answer.
type answer struct {
	Recorded bool    `json:"recorded"` // false: the engine's backups are not made by this process
	Backups  []shown `json:"backups"`
}

// add records a backup that was made. moved is where it was before; empty: nowhere.
func (r Record) add(b made, moved string) error {
	if err := fsutil.MakeDir(r.Snapshots()); err != nil {
		return err
	}
	list, err := r.list()
	if err != nil {
		list = nil // it is damaged, and tells of backups alone
	}
	list = slices.DeleteFunc(list, func(old made) bool { return old.Path == b.Path || old.Path == moved })
	list = append(list, b)
	return fsutil.WriteState(r.file(), list[max(0, len(list)-most):])
}

// list returns what is recorded.
func (r Record) list() (list []made, err error) {
	_, err = fsutil.ReadState(r.file(), &list)
	return list, err
}

// Note records a backup in a folder. moved is where it was before; empty: nowhere. A failure is logged: the backup is good.
func (r Record) Note(kind, dir, moved string, begin time.Time) {
	size, _, err := fsutil.DirSize(dir)
	path := dir
	if abs, failed := filepath.Abs(dir); failed == nil {
		path = abs
	}
	if abs, failed := filepath.Abs(moved); failed == nil && moved != "" {
		moved = abs
	}
	if err == nil {
		now := r.Now()
		err = r.add(made{At: now.UTC(), Path: path, Kind: kind, Bytes: int64(size), Seconds: now.Sub(begin).Seconds()}, moved)
	}
	if err != nil {
		r.Logger.Warn("the backup is made and good, but /api/v1/status/backups will not list it; see err", "path", dir, "err", err)
	}
}

// Page answers Path. Without a record the engine's backups are not made by this process.
func Page(r *Record) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		x := answer{Recorded: r != nil, Backups: []shown{}}
		var list []made
		if r != nil {
			var err error
			if list, err = r.list(); err != nil {
				httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
				return
			}
		}
		slices.Reverse(list)
		for _, b := range list {
			x.Backups = append(x.Backups, b.now())
		}
		httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: x})
	}
}

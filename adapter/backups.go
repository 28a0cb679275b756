package adapter

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/statefile"
)

// backupsPath lists the backups that were made of the embedded store, the last one first.
const backupsPath = "/api/v1/status/backups"

// backupsFile is the file in snapshotsDir that records the last mostBackups backups.
const (
	backupsFile = "backups.json"
	mostBackups = 100
)

// A madeBackup is a backup that was made.
type madeBackup struct {
	At      time.Time `json:"at"`
	Path    string    `json:"path"`
	Kind    string    `json:"kind"` // snapshot: by the admin API; backup: by the command
	Bytes   int64     `json:"bytes"`
	Seconds float64   `json:"seconds"`
}

// shownBackup is a backup in the answer.
type shownBackup struct {
	madeBackup

	There    bool            `json:"there"`              // this machine has the folder still
	Verified *verifiedBackup `json:"verified,omitempty"` // what the last verification found
}

// backupsAnswer is the data of the answer.
type backupsAnswer struct {
	Recorded bool          `json:"recorded"` // false: the engine's backups are not made by this process
	Backups  []shownBackup `json:"backups"`
}

// recordBackup records a backup that was made. moved is where it was before; empty: nowhere.
func (o Options) recordBackup(b madeBackup, moved string) error {
	dir := filepath.Join(o.Path, snapshotsDir)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	file := filepath.Join(dir, backupsFile)
	var list []madeBackup
	if _, err := statefile.Read(file, &list); err != nil {
		list = nil // it is damaged, and tells of backups alone
	}
	list = slices.DeleteFunc(list, func(old madeBackup) bool { return old.Path == b.Path || old.Path == moved })
	list = append(list, b)
	return statefile.Write(file, list[max(0, len(list)-mostBackups):])
}

// noteBackup records a backup in a folder. A failure is logged: the backup is good.
func (o Options) noteBackup(kind, dir, moved string, begin time.Time) {
	size, _, err := folderSize(dir)
	path := dir
	if abs, failed := filepath.Abs(dir); failed == nil {
		path = abs
	}
	if abs, failed := filepath.Abs(moved); failed == nil && moved != "" {
		moved = abs
	}
	if err == nil {
		now := o.Now()
		err = o.recordBackup(madeBackup{At: now.UTC(), Path: path, Kind: kind, Bytes: int64(size), Seconds: now.Sub(begin).Seconds()}, moved)
	}
	if err != nil {
		o.Logger.Warn("the backup is made and good, but /api/v1/status/backups will not list it; see err", "path", dir, "err", err)
	}
}

func (a *Adapter) showBackups(w http.ResponseWriter, _ *http.Request) {
	x := backupsAnswer{Recorded: a.o.Engine == EngineEmbedded, Backups: []shownBackup{}}
	var list []madeBackup
	if x.Recorded {
		var err error
		if list, err = a.o.backupsRecord(); err != nil {
			unavailable(w, err)
			return
		}
	}
	slices.Reverse(list)
	for _, b := range list {
		x.Backups = append(x.Backups, b.shown())
	}
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: x})
}

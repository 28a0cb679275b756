package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// numbered is a load of numbered points: writer w writes n at n seconds after the start, and turns
// to another series every hundred points. It records what was acknowledged.
type numbered struct {
	start time.Time
	acked [3]atomic.Int64
	stop  func()
}

func (l *numbered) series(w, n int) storage.Series {
	return storage.Series{Metric: "load", Tags: []storage.Tag{{Key: "part", Value: fmt.Sprint(n / 100)}, {Key: "writer", Value: fmt.Sprint(w)}}}
}

func startNumbered(t *testing.T, store storage.Appender) *numbered {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &numbered{start: time.Now().Add(-3 * time.Hour).Truncate(time.Hour)}
	var group sync.WaitGroup
	l.stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(l.stop)
	for w := range l.acked {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				refs, errs := store.Resolve(t.Context(), []storage.Series{l.series(w, n)})
				if errs != nil {
					t.Error(errs)
					return
				}
				var b storage.Batch
				b.Add(refs[0], l.start.Add(time.Duration(n)*time.Second).UnixMilli(), float64(n))
				if err := store.Append(t.Context(), &b); err != nil {
					t.Error(err)
					return
				}
				l.acked[w].Store(int64(n + 1))
			}
		})
	}
	return l
}

// wait waits until each writer has written some more points, and returns what is acknowledged.
func (l *numbered) wait(t *testing.T, more int64) (acked []int64) {
	t.Helper()
	for w := range l.acked {
		for target := l.acked[w].Load() + more; l.acked[w].Load() < target && !t.Failed(); {
			time.Sleep(time.Millisecond) // polling
		}
	}
	for w := range l.acked {
		acked = append(acked, l.acked[w].Load())
	}
	return acked
}

// check reads a store: it must have the points of each writer from the first on, without a gap, and
// no fewer than were acknowledged.
func (l *numbered) check(t *testing.T, store *store.Store, acked []int64) {
	t.Helper()
	for w := range acked {
		found := int64(0)
		for part := 0; ; part++ {
			refs, errs := store.Resolve(t.Context(), []storage.Series{l.series(w, part*100)})
			if errs != nil {
				t.Fatal(errs)
			}
			n := 0
			for p, err := range store.Select(t.Context(), storage.Query{Refs: refs, End: storage.MaxTime, Samples: true}) {
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range p.Values {
					if at := l.start.Add(time.Duration(found) * time.Second).UnixMilli(); v != float64(found) || p.Times[i] != at {
						t.Fatalf("writer %d: point %v at %d, want %d at %d", w, v, p.Times[i], found, at)
					}
					found++
					n++
				}
			}
			if n < 100 {
				break
			}
		}
		t.Logf("writer %d: %d acknowledged, %d found", w, acked[w], found)
		if found < acked[w] {
			t.Errorf("writer %d: %d points are there, %d were acknowledged before the backup", w, found, acked[w])
		}
	}
}

// checkRestored restores a backup, or a copy of a store, and checks what an adapter finds in it.
func (l *numbered) checkRestored(t *testing.T, o adapter.Options, from string, acked []int64) {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), "restored")
	if err := Restore(t.Context(), o, StoreOptions{Dir: from}, io.Discard); err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	a, stop := adaptertest.Run(t, o)
	l.check(t, a.Store(), acked)
	stop()
}

// TestBackupUnderLoad makes backups of a store during writes, restores each, and checks that
// everything acknowledged before the backup is there.
func TestBackupUnderLoad(t *testing.T) {
	for _, mode := range []write.Mode{write.Through, write.Buffered} {
		t.Run(string(mode), func(t *testing.T) {
			o := adaptertest.Options(t, mode)
			a, stop := adaptertest.Run(t, o)
			l := startNumbered(t, a.Store())
			dir := t.TempDir()
			var acked [][]int64
			for n := range 3 {
				acked = append(acked, l.wait(t, 110))
				var out strings.Builder
				s := StoreOptions{URL: "http://" + a.Addr(), Dir: filepath.Join(dir, "deep", fmt.Sprint(n))}
				if err := Backup(t.Context(), o, s, &out); err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(out.String(), s.Dir+": ") {
					t.Errorf("backup printed %q", out.String())
				}
			}
			if left := snapshotsOf(t, o); len(left) > 0 {
				t.Errorf("snapshots left in the store: %v", left)
			}
			l.stop()
			stop()
			for n := range acked {
				l.checkRestored(t, o, filepath.Join(dir, "deep", fmt.Sprint(n)), acked[n])
			}
		})
	}
}

// TestBackupAfterCrash backs up a store after a crash, with a log that was not replayed, while no
// process runs.
func TestBackupAfterCrash(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	a, _ := adaptertest.Run(t, o)
	l := startNumbered(t, a.Store())
	acked := l.wait(t, 250)
	l.stop()
	crashed := o
	crashed.Path = filepath.Join(t.TempDir(), "crashed")
	servertest.CopyRunning(t, o.Path, crashed.Path)
	if _, files, err := fsutil.DirSize(crashed.LogFolder()); err != nil || files == 0 {
		t.Fatalf("log of the crashed store: %d files, %v", files, err)
	}
	backup := filepath.Join(t.TempDir(), "backup")
	if err := Backup(t.Context(), crashed, StoreOptions{Dir: backup}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{backup, crashed.Path} {
		l.checkRestored(t, o, from, acked)
	}
}

// TestCompactCommand compacts a store that a process has open, and then one that none has open.
func TestCompactCommand(t *testing.T) {
	o := adaptertest.Options(t, write.Through)
	a, stop := adaptertest.Run(t, o)
	l := startNumbered(t, a.Store())
	acked := l.wait(t, 150)
	l.stop()
	s := StoreOptions{URL: "http://" + a.Addr()}
	for range 2 {
		var out strings.Builder
		if err := CompactTables(t.Context(), o, s, &out); err != nil || !strings.Contains(out.String(), " before, ") {
			t.Errorf("compact: %q, %v", out.String(), err)
		}
		stop()
	}
	again, _ := adaptertest.Run(t, o)
	l.check(t, again.Store(), acked)
}

// TestStoreCommandsRefuse: a command that is refused names the reason and changes nothing.
func TestStoreCommandsRefuse(t *testing.T) {
	o := adaptertest.Options(t, write.Through)
	o.AdminAPI = false
	a, stop := adaptertest.Run(t, o)
	here := StoreOptions{URL: "http://" + a.Addr(), Dir: filepath.Join(t.TempDir(), "b")}
	nowhere := here
	nowhere.URL = "http://127.0.0.1:1"
	other := o
	other.ListenAddress = ""
	hbase := o
	hbase.Engine = tables.EngineHBase
	missing := o
	missing.Path = filepath.Join(t.TempDir(), "none")
	there := here
	there.Dir = t.TempDir()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"backup without the API":       {Backup(t.Context(), o, here, io.Discard), "run it with that, or stop it"},
		"compact without the API":      {CompactTables(t.Context(), o, here, io.Discard), "run it with that, or stop it"},
		"backup, adapter not found":    {Backup(t.Context(), o, nowhere, io.Discard), "--adapter-url"},
		"backup, address not known":    {Backup(t.Context(), other, StoreOptions{Dir: here.Dir}, io.Discard), "give --adapter-url"},
		"backup of HBase":              {Backup(t.Context(), hbase, here, io.Discard), "HBase has its own"},
		"restore to HBase":             {Restore(t.Context(), hbase, here, io.Discard), "HBase has its own"},
		"compact HBase":                {CompactTables(t.Context(), hbase, here, io.Discard), "HBase has its own"},
		"backup of nothing":            {Backup(t.Context(), missing, here, io.Discard), "there is no store"},
		"compact nothing":              {CompactTables(t.Context(), missing, here, io.Discard), "there is no store"},
		"backup to what is there":      {Backup(t.Context(), o, there, io.Discard), "file already exists"},
		"restore to what is there":     {Restore(t.Context(), o, StoreOptions{Dir: o.Path}, io.Discard), "another tsdbridge has it open"},
		"restore of no backup":         {Restore(t.Context(), missing, there, io.Discard), "holds no store"},
		"restore of what is not":       {Restore(t.Context(), missing, here, io.Discard), "no such file"},
		"restore of a half backup":     {Restore(t.Context(), missing, StoreOptions{Dir: there.Dir + ".partial"}, io.Discard), "was not finished"},
		"restore of a store in use":    {Restore(t.Context(), missing, StoreOptions{Dir: o.Path}, io.Discard), "another tsdbridge has it open"},
		"restore next to an older log": {Restore(t.Context(), withLog(t, missing), there, io.Discard), "log of an earlier store"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	if _, err := os.Stat(missing.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was made: %v", missing.Path, err)
	}
	stop()
	if err := Backup(t.Context(), o, here, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), o, here, io.Discard); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("restore to a store: %v", err)
	}
}

// withLog sets the path of a log that has a file.
func withLog(t *testing.T, o adapter.Options) adapter.Options {
	t.Helper()
	o.LogPath = t.TempDir()
	if err := os.WriteFile(filepath.Join(o.LogPath, "0000000000000001.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAdminAPI: the admin API is off unless its flag is set, and accepts only POST and PUT, as in
// Prometheus, and not from pages of another origin.
func TestAdminAPI(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		o := adaptertest.Options(t, write.Through)
		o.AdminAPI = enabled
		a, stop := adaptertest.Run(t, o)
		for _, c := range []struct {
			method, path, site string
			on, off            int
		}{
			{http.MethodPost, "/api/v1/admin/tsdb/snapshot", "", 200, 404},
			{http.MethodPut, "/api/v1/admin/tsdb/snapshot", "same-origin", 200, 404},
			{http.MethodPost, "/api/v1/admin/tsdb/snapshot", "cross-site", 403, 404},
			{http.MethodGet, "/api/v1/admin/tsdb/snapshot", "", 405, 404},
			{http.MethodDelete, "/api/v1/admin/tsdb/clean_tombstones", "", 405, 404},
			{http.MethodPost, "/api/v1/admin/tsdb/snapshot?skip_head=maybe", "", 400, 404},
			{http.MethodPost, "/api/v1/admin/tsdb/compact", "", 200, 404},
			{http.MethodPost, "/api/v1/admin/tsdb/compact", "cross-site", 403, 404},
		} {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+a.Addr()+c.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if c.site != "" {
				req.Header.Set("Sec-Fetch-Site", c.site)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if want := map[bool]int{true: c.on, false: c.off}[enabled]; resp.StatusCode != want {
				t.Errorf("enabled %t: %s %s: %s, want %d", enabled, c.method, c.path, resp.Status, want)
			}
		}
		if names := snapshotsOf(t, o); len(names) != map[bool]int{true: 2}[enabled] {
			t.Errorf("enabled %t: snapshots %v", enabled, names)
		}
		stop()
	}
}

// snapshotsOf returns the names of the snapshots in a store. The record of backups beside them is none.
func snapshotsOf(t *testing.T, o adapter.Options) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(o.Backups().Snapshots(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if name := filepath.Base(path); name != "backups.json" {
			names = append(names, name)
		}
	}
	return names
}

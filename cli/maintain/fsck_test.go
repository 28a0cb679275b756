package maintain

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// runFsck runs the command and returns its exit code and what it printed.
func runFsck(t *testing.T, o adapter.Options, change func(*FsckOptions)) (code int, out string) {
	t.Helper()
	return commandtest.Code(t, func(console command.Console) error {
		f := DefaultFsckOptions()
		f.Tables = "data"
		change(&f)
		return Fsck(t.Context(), o, f, console)
	})
}

// damageRows puts an instant in a second cell of each row, and makes a row of nothing.
func damageRows(t *testing.T, db kv.KV) {
	t.Helper()
	rows := []kv.Mutation{{Key: []byte("\xAA\xAA\xAA\x50\xE2\x27\x00\x00\x00\x01\x00\x00\x01"), Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{1}}}}}
	for r, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, kv.Mutation{Key: r.Key, Puts: []kv.Put{{Qualifier: []byte{0xF0, 0, 0, 0}, Value: []byte{1}}}})
	}
	if err := db.Apply(t.Context(), "tsdb", schema.FamilyData, rows); err != nil {
		t.Fatal(err)
	}
}

// The command checks an embedded store that nobody has open, and has the adapter do it that has it
// open.
func TestFsck(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	a, stop := adaptertest.Run(t, o)
	adaptertest.AppendPoint(t, a.Store(), storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "h"}}}, 1356998400_000, 0.5)
	stop()
	damageStopped := func() {
		if err := tables.Read(t.Context(), o.Options, func(db kv.KV, _ *store.Store) error {
			damageRows(t, db)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	none := func(*FsckOptions) {}
	fix := func(f *FsckOptions) { f.Fix = "all" }
	if code, out := runFsck(t, o, none); code != 0 || !strings.HasPrefix(out, "1 rows and 1 cells checked\n") {
		t.Fatalf("a sound store: %d, %s", code, out)
	}
	damageStopped()
	for _, step := range []struct {
		change func(*FsckOptions)
		code   int
		want   []string
	}{
		{none, 1, []string{"duplicate: tsdb 00000150e22700000001000001 (m{host=h} 2013-01-01T00:00:00Z): 0:00.000 in cell 000b", "unknown-uid: tsdb aaaaaa50e22700000001000001", "2 rows and 3 cells checked\n"}},
		{func(f *FsckOptions) { f.Metrics = []string{"m"}; f.Start, f.End = "2013-01-01T00:30:00Z", "1357000000" }, 1, []string{"1 rows and 2 cells checked\n"}},
		{func(f *FsckOptions) { f.Metrics = []string{"none"} }, 2, []string{`no such metric: "none"`}},
		{fix, 1, []string{"and in cell f0000000 written at", ": mended\n", "duplicate        1 in 1 rows, 1 mended: "}},
		{none, 0, []string{"1 rows and 1 cells checked\n"}},
	} {
		code, out := runFsck(t, o, step.change)
		for _, want := range step.want {
			if !strings.Contains(out, want) {
				t.Errorf("it prints %s, want %s", out, want)
			}
		}
		if code != step.code {
			t.Errorf("exit code %d, want %d: %s", code, step.code, out)
		}
	}

	damageStopped()
	a, stop = adaptertest.Run(t, o)
	running := o
	running.ListenAddress = a.Addr()
	state := filepath.Join(t.TempDir(), "state")
	if code, out := runFsck(t, running, func(f *FsckOptions) { f.State = state }); code != 1 || !strings.Contains(out, "2 rows and 3 cells checked\n") {
		t.Errorf("in the adapter: %d, %s", code, out)
	}
	if code, out := runFsck(t, running, func(f *FsckOptions) { f.State, f.Fix = state, "all" }); code != 2 || !strings.Contains(out, "another check") {
		t.Errorf("another check with the state: %d, %s", code, out)
	}
	if code, out := runFsck(t, running, func(f *FsckOptions) { f.Metrics = []string{"none"} }); code != 2 || !strings.Contains(out, "no such metric") {
		t.Errorf("in the adapter: %d, %s", code, out)
	}
	if code, out := runFsck(t, running, fix); code != 1 || strings.Count(out, ": mended\n") != 2 {
		t.Errorf("mended in the adapter: %d, %s", code, out)
	}
	if code, out := runFsck(t, o, func(f *FsckOptions) { f.URL = "http://" + running.ListenAddress }); code != 0 {
		t.Errorf("after that: %d, %s", code, out)
	}
	if code, out := runFsck(t, running, func(f *FsckOptions) { f.Tables = "" }); code != 0 || !strings.HasPrefix(out, "2 rows and 4 cells checked\n") {
		t.Errorf("all tables in the adapter: %d, %s", code, out)
	}
	stop()

	o.AdminAPI = false
	a, _ = adaptertest.Run(t, o)
	running.ListenAddress = a.Addr()
	if code, out := runFsck(t, running, none); code != 2 || !strings.Contains(out, "--web.enable-admin-api") {
		t.Errorf("without the admin API: %d, %s", code, out)
	}
	o.Engine = tables.EngineMemory
	if code, out := runFsck(t, o, none); code != 2 || !strings.Contains(out, "--adapter-url") {
		t.Errorf("memory: %d, %s", code, out)
	}
}

func TestFsckOptions(t *testing.T) {
	for want, change := range map[string]func(*FsckOptions){
		"--table=x: x: want data, meta, tree or archive":                               func(f *FsckOptions) { f.Tables = "x" },
		"--fix=x: x: no such kind of finding":                                          func(f *FsckOptions) { f.Fix = "x" },
		"--parallel=0: want 1 to 256":                                                  func(f *FsckOptions) { f.Parallel = 0 },
		"--progress=-1ns: must not be negative":                                        func(f *FsckOptions) { f.Every = -1 },
		"--start=-1: no row has this time":                                             func(f *FsckOptions) { f.Start = "-1" },
		"--start=9000 is after --end=3000":                                             func(f *FsckOptions) { f.Start, f.End = "9000", "3000" },
		"--end=today: want a time such as 2013-01-01T00:00:00Z, or seconds since 1970": func(f *FsckOptions) { f.End = "today" },
	} {
		f := DefaultFsckOptions()
		change(&f)
		if err := f.Validate(); err == nil || err.Error() != want {
			t.Errorf("Validate() = %v, want %s", err, want)
		}
	}
}

// A series whose row of tsdb-meta is lost is not found, until "meta sync" makes the row again: in a
// store that nobody has open, and in one that an adapter has open.
func TestSyncMeta(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	series := storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "h"}}}
	a, stop := adaptertest.Run(t, o)
	refs, errs := a.Store().Resolve(t.Context(), []storage.Series{series})
	if errs != nil {
		t.Fatal(errs)
	}
	var b storage.Batch
	for hour := range int64(50) {
		b.Add(refs[0], 1356998400_000+hour*3600_000, float64(hour))
	}
	if err := a.Store().Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	stop()
	lose := func() {
		t.Helper()
		rows := []kv.Mutation{{Key: []byte("\x00\x00\x01\x00\x00\x01\x00\x00\x01"), DeleteRow: true}}
		if err := tables.Read(t.Context(), o.Options, func(db kv.KV, _ *store.Store) error {
			return db.Apply(t.Context(), "tsdb-meta", schema.FamilyMeta, rows)
		}); err != nil {
			t.Fatal(err)
		}
	}
	points := func(a *adapter.Adapter) (n int) {
		t.Helper()
		found, err := a.Store().Find(t.Context(), nil, 0, storage.MaxTime, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			for p, err := range a.Store().Select(t.Context(), storage.Query{Refs: []storage.Ref{f.Ref}, End: storage.MaxTime, Samples: true}) {
				if err != nil {
					t.Fatal(err)
				}
				n += len(p.Values)
			}
		}
		return n
	}
	check := func(o adapter.Options, fix string, wantCode int, want string) {
		t.Helper()
		code, out := commandtest.Code(t, func(console command.Console) error {
			f := DefaultFsckOptions()
			f.Fix = fix
			return SyncMeta(t.Context(), o, f, console)
		})
		if code != wantCode || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %d: %s, want %s", code, wantCode, out, want)
		}
	}
	check(o, "", 0, "1 rows of tsdb-meta checked; of series 0 rows or cells were missing, 0 were made\n")
	lose()
	check(o, "", 1, "no-meta: tsdb-meta 000001000001000001 (m{host=h}): its rows are of 2013-01-01T00:00Z to 2013-01-03T01:00Z\n")
	check(o, "yes", 0, ": mended\n0 rows of tsdb-meta checked; of series 1 rows or cells were missing, 1 were made\n")
	a, stop = adaptertest.Run(t, o)
	if n := points(a); n != 50 {
		t.Errorf("%d points are found again, want 50", n)
	}
	if m, ok, err := a.Store().Documents().SeriesMeta(t.Context(), []byte("\x00\x00\x01\x00\x00\x01\x00\x00\x01")); err != nil || !ok || m.Created != 1356998400 || m.Points != 1 {
		t.Errorf("its document is %+v, %v, %v", m, ok, err)
	}
	stop()

	lose()
	a, _ = adaptertest.Run(t, o)
	running := o
	running.ListenAddress = a.Addr()
	if n := points(a); n != 0 {
		t.Errorf("%d points of a series that is lost", n)
	}
	check(running, "", 1, "1 rows or cells were missing, 0 were made")
	check(running, "yes", 0, "1 rows or cells were missing, 1 were made")
	if n := points(a); n != 50 {
		t.Errorf("in the adapter %d points are found again, want 50", n)
	}
	check(running, "yes", 0, "of series 0 rows")
}

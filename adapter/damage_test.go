package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// A damage changes one file of a store.
type damage struct {
	name string
	do   func(t *testing.T, file string)
}

// damages returns the damages that a file of so many bytes may suffer.
func damages(rng *rand.Rand, size int64, flips int) []damage {
	list := []damage{{"removed", func(t *testing.T, file string) { must(t, os.Remove(file)) }}}
	if size == 0 {
		return list
	}
	cut := func(to int64) damage {
		return damage{fmt.Sprintf("cut to %d of %d", to, size), func(t *testing.T, file string) { must(t, os.Truncate(file, to)) }}
	}
	list = append(list, cut(size/2))
	if flips > 1 {
		list = append(list, cut(0), cut(size-1))
	}
	for range flips {
		at, bit := rng.Int64N(size), byte(1)<<rng.IntN(8)
		list = append(list, damage{fmt.Sprintf("bit %02x flipped at %d of %d", bit, at, size), func(t *testing.T, file string) { flip(t, file, at, bit) }})
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, file string, at int64, bit byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	must(t, err)
	b[0] ^= bit
	_, err = f.WriteAt(b[:], at)
	must(t, errors.Join(err, f.Close()))
}

// used returns how many bytes of a file have content: a log reserves zeros.
func used(t *testing.T, file string) int64 {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	return int64(len(bytes.TrimRight(b, "\x00")))
}

// storesToDamage returns stores as they are after a clean end, after a kill with points in the log,
// and after a kill in the mode without a log. older is their content before some of it was
// overwritten: where the newer values are lost with a warning, the older ones are left.
func storesToDamage(t *testing.T) (stores map[string]Options, older damagedStart) {
	t.Helper()
	stores = map[string]Options{}
	for name, mode := range map[string]write.Mode{"stopped": write.Buffered, "killed": write.Buffered, "killed, through": write.Through} {
		o := fixtureOptions(t)
		o.WriteMode = string(mode)
		a, stop := runAdapter(t, o)
		fixtureFirst(t, a)
		older.dumpEach(t, a.store)
		stop()
		a, stop = runAdapter(t, o)
		fixtureSecond(t, a)
		fixtureLast(t, a)
		if name == "stopped" {
			stop()
			stores[name] = o
			continue
		}
		killed := o
		killed.Path = filepath.Join(t.TempDir(), "killed")
		servertest.CopyRunning(t, o.Path, killed.Path)
		stop()
		stores[name] = killed
	}
	return stores, older
}

// TestDamagedStores damages each file of each store in many ways, and starts it. Either everything
// acknowledged is there, or the start is refused with the name of a file, or a warning names what
// is missing, or a query fails with the name of a file while all others are exact. Points never
// disappear silently.
func TestDamagedStores(t *testing.T) {
	flips := scale.Of(t, "damaged bytes of each file", 1, 1, 20)
	stores, older := storesToDamage(t)
	for name, o := range stores {
		want := startDamaged(t, o, copyOf(t, o))
		if want.refused != "" || len(want.series) == 0 {
			t.Fatalf("%s: undamaged: %s", name, want.refused)
		}
		rng := rand.New(rand.NewPCG(7, uint64(len(name))))
		outcomes, n := map[string]int{}, 0
		for _, file := range filesBelow(t, o.Path) {
			for _, d := range damages(rng, used(t, filepath.Join(o.Path, file)), flips) {
				path := copyOf(t, o)
				d.do(t, filepath.Join(path, file))
				got := startDamaged(t, o, path)
				what := fmt.Sprintf("%s: %s %s", name, file, d.name)
				result := got.compare(t, what, path, want)
				outcomes[result]++
				must(t, os.RemoveAll(path))
				if n++; result != "all there" && n%4 == 0 {
					outcomes[fixDamaged(t, o, file, d, what, want, older)]++
				}
			}
		}
		t.Logf("%s: %v", name, outcomes)
	}
}

// TestLostLog removes the log of a killed store together with its mark, or puts shorter ones in
// their place. A start in either mode and a backup refuse that, with the name of a file; "store
// check" finds it, and --fix continues without the log. A backup contains no log.
func TestLostLog(t *testing.T) {
	stores, older := storesToDamage(t)
	o := stores["killed"]
	want := startDamaged(t, o, copyOf(t, o))
	early := earlyLog(t)
	for what, do := range map[string]func(path string) error{
		"the points and their mark": func(path string) error {
			return errors.Join(os.RemoveAll(filepath.Join(path, "log", "points")), os.Remove(filepath.Join(path, "log-points.mark")))
		},
		"the files of points and their mark": func(path string) error {
			return errors.Join(os.RemoveAll(filepath.Join(path, "log", "points")), os.Mkdir(filepath.Join(path, "log", "points"), 0o750), os.Remove(filepath.Join(path, "log-points.mark")))
		},
		"the log and its marks": func(path string) error {
			return errors.Join(os.RemoveAll(filepath.Join(path, "log")), os.Remove(filepath.Join(path, "log-points.mark")), os.Remove(filepath.Join(path, "log-series.mark")))
		},
		"the log of another store": func(path string) error {
			return errors.Join(os.RemoveAll(filepath.Join(path, "log")), os.CopyFS(filepath.Join(path, "log"), os.DirFS(filepath.Join(early, "log"))),
				copyOver(filepath.Join(early, "log-points.mark"), filepath.Join(path, "log-points.mark")), copyOver(filepath.Join(early, "log-series.mark"), filepath.Join(path, "log-series.mark")))
		},
	} {
		for _, mode := range []write.Mode{write.Buffered, write.Through} {
			o.WriteMode = string(mode)
			path := copyOf(t, o)
			must(t, do(path))
			if got := startDamaged(t, o, path); !strings.Contains(got.refused, filepath.Join(path, "log")) {
				t.Errorf("%s, %s: refused %q", what, mode, got.refused)
			}
		}
		path := copyOf(t, o)
		must(t, do(path))
		lost := o
		lost.Path = path
		if err := tables.BackUp(t.Context(), lost.Options, filepath.Join(t.TempDir(), "backup")); !errors.Is(err, log.ErrCorrupt) {
			t.Errorf("%s: backup: %v", what, err)
		}
		if strings.HasPrefix(what, "the log of another") {
			continue // its points belong to another store
		}
		fixDamaged(t, o, ".", damage{what, func(t *testing.T, path string) { must(t, do(path)) }}, what, want, older)
	}
}

// TestOlderStore has an older copy of a store with its newer log: the log's new series have UIDs
// that the next new names would get. A start refuses that, "store check" finds it, and --fix
// continues without the points of those series.
func TestOlderStore(t *testing.T) {
	o := fixtureOptions(t)
	a, stop := runAdapter(t, o)
	fixtureFirst(t, a)
	stop()
	old := filepath.Join(t.TempDir(), "old")
	must(t, servertest.CopySparse(o.Path, old))
	a, _ = runAdapter(t, o)
	fixtureLast(t, a)
	running := copyOf(t, o)
	must(t, os.RemoveAll(filepath.Join(old, "log")))
	must(t, servertest.CopySparse(filepath.Join(running, "log"), filepath.Join(old, "log")))
	for _, mark := range []string{"log-points.mark", "log-series.mark"} {
		must(t, copyOver(filepath.Join(running, mark), filepath.Join(old, mark)))
	}
	if got := startDamaged(t, o, old); !strings.Contains(got.refused, filepath.Join(old, "log-points.mark")) || !strings.Contains(got.refused, "older than it") {
		t.Fatalf("refused %q, %d series", got.refused, len(got.series))
	}
	o.Path = old
	var out strings.Builder
	if err := CheckStore(t.Context(), o, false, &out); err == nil || !strings.Contains(out.String(), "older than its log") {
		t.Errorf("store check: %v\n%s", err, out.String())
	}
	if err := CheckStore(t.Context(), o, true, &out); err != nil {
		t.Errorf("store check --fix: %v\n%s", err, out.String())
	}
	if got := startDamaged(t, o, old); got.refused != "" || len(got.failed) > 0 {
		t.Errorf("after --fix: %s %v", got.refused, got.failed)
	}
}

// earlyLog returns a store whose log holds one record.
func earlyLog(t *testing.T) (path string) {
	t.Helper()
	o := fixtureOptions(t)
	a, _ := runAdapter(t, o)
	sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="load", host="web0"} -7@%d`, fixtureTime(-299)), 1)
	path = filepath.Join(t.TempDir(), "early")
	must(t, servertest.CopySparse(o.Path, path))
	return path
}

func copyOver(from, to string) error {
	return errors.Join(os.Remove(to), servertest.CopySparse(from, to))
}

func copyOf(t *testing.T, o Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	servertest.CopyRunning(t, o.Path, path)
	return path
}

func filesBelow(t *testing.T, dir string) (list []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "LOCK" {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, rel)
		}
		return err
	}))
	return list
}

// damagedStart is the result of a start.
type damagedStart struct {
	refused string                      // the error of the start, or why it is not ready
	series  map[string]string           // their dumps
	points  map[string]map[int64]uint64 // their floats by time, bit for bit
	failed  map[string]string           // the errors of those that cannot be read
	log     string                      // warnings and errors
}

func startDamaged(t *testing.T, o Options, path string) (out damagedStart) {
	t.Helper()
	var text lockedBuffer
	o.Path, o.ListenAddress = path, "127.0.0.1:0"
	o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelWarn}))
	defer func() { out.log = text.String() }()
	a, err := New(o)
	if err != nil {
		return damagedStart{refused: err.Error()}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	ended := error(nil)
	// polling, with a deadline
	for deadline := time.Now().Add(time.Minute); ended == nil; time.Sleep(2 * time.Millisecond) {
		err = a.Ready(ctx)
		if err == nil || errors.Is(err, storage.ErrDamaged) || errors.Is(err, log.ErrCorrupt) || time.Now().After(deadline) {
			break
		}
		select {
		case ended = <-done:
			err = ended
		default:
		}
	}
	if err == nil {
		out.dumpEach(t, a.store)
	} else {
		out.refused = err.Error()
	}
	cancel()
	if ended == nil {
		if err := <-done; err != nil {
			out.log += err.Error()
		}
	}
	return out
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// dumpEach reads the series of a store one by one.
func (o *damagedStart) dumpEach(t *testing.T, s *store.Store) {
	t.Helper()
	o.series, o.points, o.failed = map[string]string{}, map[string]map[int64]uint64{}, map[string]string{}
	found, err := s.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		o.failed["find"] = err.Error()
		return
	}
	for _, f := range found {
		name := fmt.Sprintf("%s %q", f.Metric, f.Tags)
		for p, err := range s.Select(t.Context(), storage.Query{Refs: []storage.Ref{f.Ref}, End: storage.MaxTime, Samples: true, Exemplars: true}) {
			if err != nil {
				o.failed[name] = err.Error()
				break
			}
			o.series[name], o.points[name] = fmt.Sprint(p.Times, p.Values), map[int64]uint64{}
			for i, at := range p.Times {
				o.points[name][at] = math.Float64bits(p.Values[i])
			}
			for _, object := range p.Objects {
				o.series[name] += fmt.Sprintf(" %d %d %x", object.Time, object.Kind, object.Data)
			}
		}
	}
}

// compare returns the effect of a damage, and fails the test if an answer is silently incomplete.
func (o damagedStart) compare(t *testing.T, what, path string, want damagedStart) string {
	t.Helper()
	if o.refused != "" {
		if !strings.Contains(o.refused, path) {
			t.Errorf("%s: refused without the name of a file: %s", what, o.refused)
		}
		return "refused"
	}
	for name, text := range o.failed {
		if !strings.Contains(text, path) || !strings.Contains(text, "damaged") {
			t.Errorf("%s: %s fails without the name of a file: %s", what, name, text)
		}
	}
	var differ []string
	for name, points := range want.series {
		if o.failed[name] == "" && o.failed["find"] == "" && o.series[name] != points {
			differ = append(differ, name)
		}
	}
	slices.Sort(differ)
	switch {
	case len(differ) > 0 && !strings.Contains(o.log, path):
		t.Errorf("%s: %d series are not what was written, and no word: %s\nlog: %s", what, len(differ), differ, o.log)
	case len(differ) > 0:
		return "warned"
	case len(o.failed) > 0:
		return "queries fail"
	}
	return "all there"
}

// fixDamaged damages a store again and runs "store check" on it. The check names what is wrong;
// after --fix the store starts, contains nothing that was never written, and another check finds
// nothing. What cannot be repaired is reported.
func fixDamaged(t *testing.T, o Options, file string, d damage, what string, want, older damagedStart) string {
	t.Helper()
	path := copyOf(t, o)
	defer func() { must(t, os.RemoveAll(path)) }()
	d.do(t, filepath.Join(path, file))
	o.Path = path
	var out strings.Builder
	err := CheckStore(t.Context(), o, false, &out)
	if err == nil || !strings.Contains(out.String()+err.Error(), path) {
		t.Errorf("%s: store check: %v, without the name of a file:\n%s", what, err, out.String())
	}
	out.Reset()
	if err := CheckStore(t.Context(), o, true, &out); err != nil {
		if !errors.Is(err, storage.ErrDamaged) && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: store check --fix: %v\n%s", what, err, out.String())
		}
		return "not mended"
	}
	fixed := startDamaged(t, o, path)
	if fixed.refused != "" || len(fixed.failed) > 0 {
		t.Errorf("%s: after --fix: %s %v\n%s", what, fixed.refused, fixed.failed, out.String())
	}
	for name, points := range fixed.points {
		for at, v := range points {
			if now, before := want.points[name][at], older.points[name][at]; now != v && before != v {
				t.Errorf("%s: after --fix: %s at %d is %x, want %x or %x\n%s", what, name, at, v, now, before, out.String())
				break
			}
		}
	}
	out.Reset()
	if err := CheckStore(t.Context(), o, false, &out); err != nil {
		t.Errorf("%s: store check after --fix: %v\n%s", what, err, out.String())
	}
	return "mended"
}

// TestDamagedBlock: queries that read a damaged block are answered 500 with the file's name, others
// are exact, writes continue, and the damage is counted and logged.
func TestDamagedBlock(t *testing.T) {
	o := storeTestOptions(t, write.Through)
	o.CacheBytes = 1 // blocks are read again
	a, stop := runAdapter(t, o)
	rng := rand.New(rand.NewPCG(1, 2))
	const series = 60
	for n := range series {
		var b strings.Builder
		fmt.Fprintf(&b, `{__name__="m%02d"}`, n)
		for i := range 400 {
			fmt.Fprintf(&b, " %v@%d", rng.Float64(), 1_700_000_000_000+i*1000)
		}
		sendRemoteWrite(t, a, b.String(), 1)
	}
	stop()
	compactStore(t, o)
	tables, err := filepath.Glob(filepath.Join(o.Path, "*.sst"))
	must(t, err)
	largest := slices.MaxFunc(tables, func(x, y string) int { return int(used(t, x) - used(t, y)) })
	flip(t, largest, used(t, largest)/3, 1)
	a, _ = runAdapter(t, o)
	statuses := map[int]int{}
	for n := range series {
		status, body := promtest.Do(t, http.MethodGet, fmt.Sprintf("http://%s/api/v1/query?time=1700000399&query=count_over_time(m%02d[1h])", a.Addr(), n), nil)
		statuses[status]++
		switch {
		case status == http.StatusOK && !strings.Contains(body, `"400"`):
			t.Errorf("m%02d: %s", n, body)
		case status != http.StatusOK && (status != http.StatusInternalServerError || !strings.Contains(body, largest)):
			t.Errorf("m%02d: %d %s, want 500 with the name of the file", n, status, body)
		}
	}
	if statuses[http.StatusOK] < series/4 || statuses[http.StatusInternalServerError] == 0 {
		t.Errorf("statuses %v, want some 500 and many 200", statuses)
	}
	sendRemoteWrite(t, a, `{__name__="after"} 1@1700000000000`, 1)
	for path, want := range map[string]string{"/metrics": "tsdbridge_embedded_damaged_files 1\n", "/-/ready?verbose": "damaged: " + largest} {
		if _, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+path, nil); !strings.Contains(body, want) {
			t.Errorf("%s does not contain %q", path, want)
		}
	}
	t.Logf("%v", statuses)
}

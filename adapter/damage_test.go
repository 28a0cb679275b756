package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// A damage changes one file of a store.
type damage struct {
	name string
	do   func(t *testing.T, file string)
}

// damages are what can happen to a file of so many bytes.
func damages(rng *rand.Rand, size int64, flips int) []damage {
	list := []damage{{"removed", func(t *testing.T, file string) { must(t, os.Remove(file)) }}}
	if size == 0 {
		return list
	}
	cut := func(to int64) damage {
		return damage{fmt.Sprintf("cut to %d of %d", to, size), func(t *testing.T, file string) { must(t, os.Truncate(file, to)) }}
	}
	list = append(list, cut(0), cut(size/2), cut(size-1))
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

// used is how many bytes of a file hold something: a log reserves zeros.
func used(t *testing.T, file string) int64 {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	return int64(len(bytes.TrimRight(b, "\x00")))
}

// storesToDamage are stores as a clean end, a kill while points wait in the log, and a kill in the mode without a log leave them.
func storesToDamage(t *testing.T) map[string]Options {
	t.Helper()
	stores := map[string]Options{}
	for name, mode := range map[string]storage.WriteMode{"stopped": storage.WriteBuffered, "killed": storage.WriteBuffered, "killed, through": storage.WriteThrough} {
		o := fixtureOptions(t)
		o.WriteMode = string(mode)
		a, stop := runAdapter(t, o)
		fixtureFirst(t, a)
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
		must(t, copySparse(o.Path, killed.Path))
		stop()
		stores[name] = killed
	}
	return stores
}

// copySparse copies a folder of files; what a log reserved becomes a hole.
func copySparse(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rel), 0o750))
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return unpackFile(f, info.Size(), filepath.Join(to, rel))
	})
}

// TestDamagedStores damages each file of each store in many ways, and starts it. Either all that was acknowledged is there, or the start is refused with the
// name of a file, or a warning says what is missing, or a query fails with the name of a file while all others are exact. Nothing is fewer points without a word.
func TestDamagedStores(t *testing.T) {
	flips := 3
	if testing.Short() {
		flips = 1
	}
	for name, o := range storesToDamage(t) {
		want := startDamaged(t, o, copyOf(t, o))
		if want.refused != "" || len(want.series) == 0 {
			t.Fatalf("%s: undamaged: %s", name, want.refused)
		}
		rng := rand.New(rand.NewPCG(7, uint64(len(name))))
		outcomes := map[string]int{}
		for _, file := range filesBelow(t, o.Path) {
			for _, d := range damages(rng, used(t, filepath.Join(o.Path, file)), flips) {
				path := copyOf(t, o)
				d.do(t, filepath.Join(path, file))
				got := startDamaged(t, o, path)
				outcomes[got.compare(t, fmt.Sprintf("%s: %s %s", name, file, d.name), path, want)]++
				must(t, os.RemoveAll(path))
			}
		}
		t.Logf("%s: %v", name, outcomes)
	}
}

func copyOf(t *testing.T, o Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	must(t, copySparse(o.Path, path))
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

// damagedStart is what a start shows.
type damagedStart struct {
	refused string            // what the start says, or what keeps it from being ready
	series  map[string]string // their dumps
	failed  map[string]string // the errors of those that cannot be read
	log     string            // warnings and errors
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
	for deadline := time.Now().Add(time.Minute); ended == nil; time.Sleep(2 * time.Millisecond) { // polling, with a deadline
		err = a.ready(ctx)
		if err == nil || errors.Is(err, kv.ErrDamaged) || errors.Is(err, log.ErrCorrupt) || time.Now().After(deadline) {
			break
		}
		select {
		case ended = <-done:
			err = ended
		default:
		}
	}
	if err == nil {
		out.series, out.failed = dumpEach(t, a.store)
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
func dumpEach(t *testing.T, s *storage.Store) (series, failed map[string]string) {
	t.Helper()
	series, failed = map[string]string{}, map[string]string{}
	found, err := s.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		failed["find"] = err.Error()
		return series, failed
	}
	for _, f := range found {
		name := fmt.Sprintf("%s %q", f.Series.Metric, f.Series.Tags)
		for p, err := range s.Select(t.Context(), storage.Query{Refs: []storage.Ref{f.Ref}, End: storage.MaxTime, Samples: true, Exemplars: true}) {
			if err != nil {
				failed[name] = err.Error()
				break
			}
			series[name] = fmt.Sprint(p.Times, p.Values)
			for _, o := range p.Objects {
				series[name] += fmt.Sprintf(" %d %d %x", o.Time, o.Kind, o.Data)
			}
		}
	}
	return series, failed
}

// compare says what became of a damage, and fails the test when it is an answer that is shorter without a word.
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

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// testTSDRandom: three adapters and a TSD write, correct and delete a few instants of a few rows in
// random order, a fourth adapter deletes, while adapters are killed and stopped. In the end all readers see for each instant
// what was acknowledged last, and OpenTSDB's check finds nothing. TSDBRIDGE_RANDOM_SEED, _SEEDS
// (how many from there on), _STEPS and _ROUNDS are for longer runs by hand.
func testTSDRandom(t *testing.T, s tables, compaction bool) {
	first := uint64(envNumber(t, "TSDBRIDGE_RANDOM_SEED", 1))
	for seed := first; seed < first+uint64(envNumber(t, "TSDBRIDGE_RANDOM_SEEDS", scale.Of(t, "random histories of three adapters and a TSD", 1, 1, 8))); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newRandomWorld(t, tables{cluster: s.cluster, name: fmt.Sprintf("%s-%d", s.name, seed)}, compaction, seed)
			for range envNumber(t, "TSDBRIDGE_RANDOM_ROUNDS", 1) {
				w.run(envNumber(t, "TSDBRIDGE_RANDOM_STEPS", scale.Of(t, "steps of each", 50, 50, 150)))
			}
		})
	}
}

// envNumber returns a whole number of the environment.
func envNumber(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

const (
	randomMetric = "random"
	// ackGap is the least time between two writes of one instant, so that their order is beyond
	// doubt.
	ackGap = 50 * time.Millisecond
)

// randomWorld is three adapters and a TSD on the tables, and what was acknowledged last of each
// instant.
type randomWorld struct {
	t          *testing.T
	s          tables
	rng        *rand.Rand
	compaction bool
	tsd        tsd
	eraser     *eraser // nil until it deletes
	// through without a log, buffered, and the default with OpenTSDB's port
	adapters []*adapter
	// milliseconds: one long ago, which a TSD compacts, and one that is not over
	hours    []int64
	instants []int64 // of both, milliseconds
	want     pointSet
	told     []string // what happened, to be printed on a failure
	begin    time.Time
	serial   int // of values
	flushes  int // of HBase
}

const (
	randomThrough = iota
	randomBuffered
	randomLogging
)

// randomHosts returns the series; randomOffsets returns the instants of an hour: at its ends, where
// cells of a TSD are mistaken, next to each other in both units, and far apart.
func randomHosts() []string { return []string{"a", "b"} }

func randomOffsets() []int64 {
	return []int64{0, 1000, 1250, 80_000, 81_000, 95_500, 600_000, 600_001, 3_000_000, 3_599_999}
}

const (
	// settledOffset is an instant that is put into each row in the end, and before the row is
	// deleted.
	settledOffset = 500
	// mostFlushes is the most flushes of HBase: after more it may compact all files, and forget
	// deletions that adapters still need.
	mostFlushes = 2
)

func newRandomWorld(t *testing.T, s tables, compaction bool, seed uint64) *randomWorld {
	t.Helper()
	s.create(t)
	port := "--opentsdb.listen-address=127.0.0.1:0"
	w := &randomWorld{t: t, s: s, rng: rand.New(rand.NewPCG(seed, 10)), compaction: compaction, want: pointSet{}, begin: time.Now()}
	w.hours = []int64{epoch.UnixMilli(), w.begin.Add(-2 * time.Minute).Truncate(time.Hour).UnixMilli()}
	for _, hour := range w.hours {
		for _, offset := range randomOffsets() {
			// Prometheus' samples must not come from the future
			if at := hour + offset; at < w.begin.UnixMilli() {
				w.instants = append(w.instants, at)
			}
		}
	}
	t.Logf("seed %d", seed)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, strings.Join(w.told, "\n"))
		}
	})
	w.adapters = []*adapter{s.startAdapter(t, "--write.mode=through"), s.startAdapter(t, "--write.mode=buffered", port), s.startAdapter(t, port)}
	w.tsd = s.startTSD(t, compaction, append(withoutMeta(), "hbase.rpcs.buffered_flush_interval", "20")...)
	return w
}

// run performs random steps, ends all adapters in order, so that everything is put, and checks.
func (w *randomWorld) run(steps int) {
	w.t.Helper()
	for range steps {
		time.Sleep(ackGap)
		w.step()
	}
	for _, at := range w.rng.Perm(len(w.adapters)) {
		w.tell("%s ends", w.name(at))
		w.adapters[at].Stop(w.t)
	}
	time.Sleep(ackGap)
	for _, at := range w.rng.Perm(len(w.adapters)) {
		w.adapters[at].Restart(w.t)
	}
	w.settle()
	w.check()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// step performs one random step.
func (w *randomWorld) step() {
	w.t.Helper()
	switch n := w.rng.IntN(43); {
	case n < 12:
		at := w.rng.IntN(len(w.adapters))
		w.write(at, w.beyond(w.points(1+w.rng.IntN(3))))
	case n < 18:
		w.put(randomBuffered+w.rng.IntN(2), w.points(1+w.rng.IntN(3)))
	case n < 26:
		w.putTSD(w.points(1 + w.rng.IntN(2)))
	case n < 28:
		w.crowd()
	case n < 31:
		w.remove()
	case n < 33:
		w.queryTSD(w.row())
	case n < 35:
		at := w.rng.IntN(len(w.adapters))
		w.tell("%s is killed", w.name(at))
		w.adapters[at].Kill()
		w.adapters[at].Restart(w.t)
	case n < 36:
		at := w.rng.IntN(len(w.adapters))
		if w.rng.IntN(2) == 0 {
			w.killWriting(at)
		} else {
			w.killEnding(at)
		}
	case n < 37:
		at := w.rng.IntN(len(w.adapters))
		w.tell("%s is stopped", w.name(at))
		w.adapters[at].Stop(w.t)
		w.adapters[at].Restart(w.t)
	case n < 39:
		w.waitPut()
	case n < 42:
		w.erase()
	case w.compaction || w.flushes == mostFlushes: // when HBase forgets the cells before it, what a compaction put together counts as written then
		w.queryTSD(w.row())
	default:
		w.flushes++
		w.tell("HBase flushes")
		if err := w.s.cluster.Flush(w.t.Context(), w.s.name); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *randomWorld) name(at int) string { return []string{"through", "buffered", "logging"}[at] }

func (w *randomWorld) tell(format string, args ...any) {
	now := time.Now()
	w.told = append(w.told, fmt.Sprintf("%7.3f %d ", now.Sub(w.begin).Seconds(), now.UnixMilli())+fmt.Sprintf(format, args...))
}

// settle starts a new process that puts a point into each row. This settles points that a TSD has
// put next to a cell of many points, which no process can know of otherwise.
func (w *randomWorld) settle() {
	w.t.Helper()
	var all []randomPoint
	for _, host := range randomHosts() {
		for _, hour := range w.hours {
			all = append(all, randomPoint{host, hour + settledOffset, w.value()})
		}
	}
	w.write(randomThrough, all)
}

// check checks that all readers see the expected points, and checks the table.
func (w *randomWorld) check() {
	w.t.Helper()
	w.checkOnce()
	visible := w.want.finite()
	w.s.checkFsck(w.t, w.tsd, visible.count()) // before the TSD makes cells that it minds itself
	got, err := w.seen(w.tsd.points)
	if err != nil {
		w.t.Errorf("TSD: %v", err)
	} else {
		visible.check(w.t, "TSD", got)
	}
	for at, a := range w.adapters {
		got, _ := w.seen(func(t testing.TB, metric string, from, to time.Time) (pointSet, error) {
			return ourPoints(t, a.client, metric, from, to), nil
		})
		w.want.check(w.t, w.name(at), got)
	}
	if w.t.Failed() {
		for _, c := range w.s.cells(w.t, w.s.name) {
			w.t.Logf("%x %x %x", c.row, c.qualifier, c.value)
		}
	}
}

// seen returns what a reader has of all hours.
func (w *randomWorld) seen(read func(t testing.TB, metric string, from, to time.Time) (pointSet, error)) (pointSet, error) {
	all := pointSet{}
	for _, at := range w.hours {
		hour := time.UnixMilli(at)
		points, err := read(w.t, randomMetric, hour, hour.Add(time.Hour-time.Millisecond))
		if err != nil {
			return nil, err
		}
		all.join(points)
	}
	return all, nil
}

// checkOnce checks that no instant is in two cells of a row, or twice in one.
func (w *randomWorld) checkOnce() {
	w.t.Helper()
	once := map[string]map[uint32]bool{}
	for _, c := range w.s.cells(w.t, w.s.name) {
		if len(c.qualifier)%2 == 1 {
			continue
		}
		if once[c.row] == nil {
			once[c.row] = map[uint32]bool{}
		}
		for _, offset := range qualifierOffsets(w.t, []byte(c.qualifier)) {
			if once[c.row][offset] {
				w.t.Errorf("row %x has %d ms twice", c.row, offset)
			}
			once[c.row][offset] = true
		}
	}
}

// qualifierOffsets returns the instants of a cell of points in milliseconds of its hour: 2 bytes
// each with 12 bits of seconds, or 4 with the bits 1111 and 22 of milliseconds.
func qualifierOffsets(t testing.TB, q []byte) (offsets []uint32) {
	t.Helper()
	for len(q) > 0 {
		n := 2
		var offset uint32
		if q[0]>>4 == 15 {
			if n = 4; len(q) < n {
				t.Fatalf("qualifier ends with %x", q)
			}
			offset = (uint32(q[0])<<24 | uint32(q[1])<<16 | uint32(q[2])<<8 | uint32(q[3])) << 4 >> 10
		} else {
			offset = (uint32(q[0])<<8 | uint32(q[1])) >> 4 * 1000
		}
		offsets, q = append(offsets, offset), q[n:]
	}
	return slices.Clip(offsets)
}

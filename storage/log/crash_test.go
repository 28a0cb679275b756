package log_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// TestRandomCrashes appends, truncates, closes, kills, cuts the power and fills the disk in random
// order, while disk calls fail in some of the runs.
func TestRandomCrashes(t *testing.T) {
	runs := scale.Of[uint64](t, "runs of random crashes", 80, 250, 5000)
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			r := &randomRun{rng: rng, rate: []float64{0, 0.02, 0.2}[seed%3], model: newModel(), disk: logtest.New(seed)}
			r.reopen(t, r.disk)
			for range 120 {
				r.step(t)
			}
			r.reopen(t, r.disk.Crash(seed))
		})
	}
}

type randomRun struct {
	rng   *rand.Rand
	rate  float64 // of failures
	model *model
	disk  *logtest.Disk
	log   *log.Log
}

func (r *randomRun) step(t *testing.T) {
	t.Helper()
	switch n := r.rng.IntN(100); {
	case n < 75:
		if err := r.model.add(t, r.log); err != nil && r.rate == 0 && !errors.Is(err, log.ErrFull) {
			t.Fatal(err)
		}
	case n < 85:
		r.truncate(t)
	case n < 88:
		r.disk.SetCapacity(int64(r.rng.IntN(20_000)))
	case n < 91:
		r.disk.SetCapacity(1 << 40)
	case n < 93:
		if err := r.log.Close(); err != nil && r.rate == 0 {
			t.Fatal(err)
		}
		r.reopen(t, r.disk)
	case n < 96:
		r.reopen(t, r.disk.Kill(r.rng.Uint64()))
	default:
		r.reopen(t, r.disk.Crash(r.rng.Uint64()))
	}
}

// truncate forgets everything before a random record.
func (r *randomRun) truncate(t *testing.T) {
	t.Helper()
	numbers := slices.Sorted(maps.Keys(r.model.acked))
	if len(numbers) == 0 {
		return
	}
	before := r.model.acked[numbers[r.rng.IntN(len(numbers))]]
	if r.rng.IntN(4) == 0 {
		before = r.log.End()
	}
	if before.Compare(r.model.from) > 0 {
		r.model.from = before
	}
	if err := r.log.Truncate(before); err != nil && r.rate == 0 {
		t.Fatal(err)
	}
}

// reopen opens the log on a disk, with failures too, until that succeeds.
func (r *randomRun) reopen(t *testing.T, disk *logtest.Disk) {
	t.Helper()
	disk.SetCapacity(1 << 40)
	for try := 0; ; try++ {
		failing(disk, func(logtest.Op, string) bool { return try < 5 && r.rng.Float64() < r.rate })
		l, err := log.Open(marked(disk))
		if err == nil {
			r.disk, r.log = disk, l
			break
		}
		if !errors.Is(err, errInjected) {
			t.Fatalf("Open = %v", err)
		}
		if r.rng.IntN(2) == 0 {
			disk = disk.Kill(r.rng.Uint64())
		}
	}
	rate := r.rate
	r.rate = 0
	r.model.check(t, r.log)
	r.rate = rate
}

// TestEveryFailure runs one scenario repeatedly. The first disk call fails, then the second, and so
// on: the log continues after each failure, and a crash after it loses nothing acknowledged.
func TestEveryFailure(t *testing.T) {
	for nth := 1; ; nth++ {
		disk, m := logtest.New(uint64(nth)), newModel()
		calls, failed := 0, ""
		failing(disk, func(op logtest.Op, name string) bool {
			if calls++; calls == nth {
				failed = fmt.Sprint(op, " ", name)
			}
			return calls == nth
		})
		errs := scenario(t, disk, m)
		if failed == "" {
			if nth < 100 {
				t.Fatalf("the scenario has only %d calls", nth)
			}
			return
		}
		if errs > 1 {
			t.Errorf("call %d, %s: %d operations failed, want one at most", nth, failed, errs)
		}
		disk.SetBefore(nil)
		m.check(t, open(t, marked(disk.Kill(1))))
		m.check(t, open(t, marked(disk.Crash(2))))
	}
}

// TestPowerCutBeforeEachCall cuts the power before each disk call of the same scenario.
func TestPowerCutBeforeEachCall(t *testing.T) {
	disk, m := logtest.New(1), newModel()
	moments := 0
	disk.SetBefore(func(op logtest.Op, name string) error {
		moments++
		for seed := range uint64(3) {
			now := &model{next: m.next, acked: maps.Clone(m.acked), unknown: maps.Clone(m.unknown), from: m.from, ordered: true}
			l, err := log.Open(marked(disk.Crash(uint64(moments)*3 + seed)))
			if err != nil {
				t.Fatalf("power cut before %s %s: %v", op, name, err)
			}
			now.check(t, l)
		}
		return nil
	})
	if errs := scenario(t, disk, m); errs > 0 || moments < 100 {
		t.Errorf("%d operations failed, %d calls", errs, moments)
	}
}

// scenario begins a log, goes through several segments, truncates and begins again. It returns how
// much of that failed.
func scenario(t *testing.T, disk *logtest.Disk, m *model) (errs int) {
	t.Helper()
	count := func(err error) bool {
		if err != nil && !errors.Is(err, errInjected) {
			t.Fatal(err)
		}
		if err != nil {
			errs++
		}
		return err == nil
	}
	for range 3 {
		l, err := log.Open(marked(disk))
		if !count(err) {
			if l, err = log.Open(marked(disk)); err != nil {
				t.Fatal(err)
			}
		}
		m.check2(t, l, count)
		for i := range 30 {
			count(m.add(t, l))
			if i%6 == 5 {
				m.from = l.End()
				count(l.Truncate(m.from))
			}
		}
		count(l.Close())
	}
	return errs
}

// check2 is check for a disk that may fail once.
func (m *model) check2(t *testing.T, l *log.Log, count func(error) bool) {
	t.Helper()
	entries, err := replay(t, l, m.from)
	if !count(err) {
		entries, err = replay(t, l, m.from)
	}
	if err == nil {
		err = m.compare(entries)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentCrashes appends from several goroutines and cuts the power at random moments.
func TestConcurrentCrashes(t *testing.T) {
	disk := logtest.New(7)
	opts := marked(disk)
	opts.MaxBytes = 64 << 20
	l := open(t, opts)
	var mu sync.Mutex
	m := newModel()
	m.ordered = false
	var g errgroup.Group
	for range 6 {
		g.Go(func() error {
			for range 150 {
				mu.Lock()
				n := m.next
				m.next++
				m.unknown[n] = true
				mu.Unlock()
				at, err := l.Append(t.Context(), recordOf(n))
				if err != nil {
					return err
				}
				mu.Lock()
				m.acked[n] = at
				mu.Unlock()
			}
			return nil
		})
	}
	for seed := range uint64(15) {
		mu.Lock()
		before := &model{acked: maps.Clone(m.acked), unknown: map[uint64]bool{}}
		mu.Unlock()
		left := disk.Crash(seed)
		mu.Lock()
		before.next, before.unknown = m.next, maps.Clone(m.unknown)
		mu.Unlock()
		opts.FS = left
		before.check(t, open(t, opts))
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	opts.FS = disk.Crash(99)
	m.check(t, open(t, opts))
}

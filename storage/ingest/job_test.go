package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/storage"
)

func newCounters() Counters {
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "x"}) }
	return Counters{counter(), counter(), counter(), counter()}
}

// text shows received, written, rejected and failed.
func (c Counters) text() string {
	of := testutil.ToFloat64
	return fmt.Sprint(of(c.Received), of(c.Written), of(c.Rejected), of(c.Failed))
}

// A refused series loses only its own points, which are identified by their origins; the others are
// stored. The next job asks only for that series.
func TestRefusedSeries(t *testing.T) {
	for _, forms := range []bool{false, true} {
		m := &memory{refuse: func(name string) error {
			if strings.HasPrefix(name, "bad") {
				return fmt.Errorf("%w: too long", storage.ErrInvalid)
			}
			return nil
		}}
		in, c := New(Options{Appender: m, CacheEntries: 100, Forms: forms}), newCounters()
		for range 2 {
			j := jobOf(in, point{"a", 1, 1}, point{"bad", 2, 2}, point{"b", 3, 3}, point{"bad2", 4, 4}, point{"bad", 5, 5})
			j.Refused++ // refused by the protocol itself
			err := in.Store(t.Context(), j)
			c.Count(j, err)
			var origins, series []string
			j.EachRefused(func(origin int, err error) { origins = append(origins, fmt.Sprint(origin, " ", err)) })
			j.EachRefusedSeries(func(key string, err error) { series = append(series, fmt.Sprint(key, " ", err)) })
			why := " " + storage.ErrInvalid.Error() + ": too long"
			if want := []string{"1" + why, "3" + why, "4" + why}; err != nil || !slices.Equal(origins, want) {
				t.Errorf("refused %q, %v, want %q", origins, err, want)
			}
			if want := []string{"bad" + why, "bad2" + why}; !slices.Equal(series, want) {
				t.Errorf("refused series %q, want %q", series, want)
			}
			j.Release()
		}
		if want := []string{"a bad b bad2", "bad bad2"}; !slices.Equal(m.resolved, want) {
			t.Errorf("resolved %q, want %q", m.resolved, want)
		}
		if want := []string{"a 1@1", "b 3@3", "a 1@1", "b 3@3"}; !slices.Equal(m.points, want) {
			t.Errorf("stored %q, want %q", m.points, want)
		}
		if got := c.text(); got != "12 4 8 0" {
			t.Errorf("counted %s", got)
		}
	}
}

// A job whose store is away is stored by another Store, which resolves only the series without an
// answer.
func TestStoreAgain(t *testing.T) {
	down, c := errors.New("no region server"), newCounters()
	m := &memory{refuse: func(name string) error {
		switch name {
		case "b":
			return down
		case "bad":
			return storage.ErrLimit
		}
		return nil
	}}
	in := New(Options{Appender: m, CacheEntries: 100})
	j := jobOf(in, point{"a", 1, 1}, point{"b", 2, 2}, point{"bad", 3, 3})
	if n := j.NewSeries(); n != 3 {
		t.Errorf("%d new series", n)
	}
	err := in.Store(t.Context(), j)
	c.Count(j, err)
	var failed *FailedError
	if !errors.Is(err, down) || !errors.As(err, &failed) || failed.Key != "b" || err.Error() != `resolve series "b": no region server` {
		t.Errorf("error %v", err)
	}
	m.refuse = nil
	if err := in.Store(t.Context(), j); err != nil {
		t.Error(err)
	}
	if want := []string{"a b bad", "b"}; !slices.Equal(m.resolved, want) {
		t.Errorf("resolved %q, want %q", m.resolved, want)
	}
	if want := []string{"a 1@1", "b 2@2"}; !slices.Equal(m.points, want) {
		t.Errorf("stored %q, want %q", m.points, want)
	}
	c.Count(j, nil)
	if got := c.text(); got != "6 2 1 3" {
		t.Errorf("counted %s", got)
	}
	c.Count(j, storage.ErrInvalid)
	if got := c.text(); got != "9 2 4 3" {
		t.Errorf("counted %s", got)
	}
}

// A job that its protocol refused, or that has no points, stores and resolves nothing.
func TestNothingToStore(t *testing.T) {
	m := &memory{}
	in := New(Options{Appender: m, CacheEntries: 100})
	j := in.Job()
	j.Begin()
	bad := errors.New("bad name")
	if err := j.Missing([]byte("x"), 0, func(string) (storage.Series, error) { return storage.Series{}, bad }); !errors.Is(err, bad) {
		t.Errorf("error %v, want %v", err, bad)
	}
	j.End()
	if err := in.Store(t.Context(), j); err != nil || m.appends > 0 || m.resolved != nil {
		t.Errorf("%v, %d appends, resolved %q", err, m.appends, m.resolved)
	}
}

// Series that are dropped from the cache are resolved again.
func TestDropCaches(t *testing.T) {
	m := &memory{}
	in := New(Options{Appender: m, CacheEntries: 100})
	for range 2 {
		for range 2 {
			if err := put(t.Context(), in, point{"a", 1, 1}); err != nil {
				t.Fatal(err)
			}
		}
		in.DropCaches()
	}
	if want := []string{"a", "a"}; !slices.Equal(m.resolved, want) {
		t.Errorf("resolved %q, want %q", m.resolved, want)
	}
}

// Latest is the clock plus MaxFuture, or no bound.
func TestLatest(t *testing.T) {
	now := time.UnixMilli(1_000_500)
	for _, c := range []struct {
		future time.Duration
		want   int64
	}{{0, 1<<63 - 1}, {time.Minute, 1_060_500}} {
		j := New(Options{CacheEntries: 10, MaxFuture: c.future, Now: func() time.Time { return now }}).Job()
		if j.Begin(); j.Latest != c.want {
			t.Errorf("MaxFuture %v: latest %d, want %d", c.future, j.Latest, c.want)
		}
		j.End()
	}
}

// When the context of a group's leader ends before its turn, the whole group gets that error, and
// may be stored again.
func TestLeaderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan error)}
		in := New(Options{Appender: m, CacheEntries: 100, Appends: 1})
		store := func(ctx context.Context, j *Job) chan error {
			done := make(chan error, 1)
			go func() { done <- in.Store(ctx, j) }()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		follower := jobOf(in, point{"c", 3, 3})
		first, leads, follows := store(t.Context(), jobOf(in, point{"a", 1, 1})), store(ctx, jobOf(in, point{"b", 2, 2})), store(t.Context(), follower)
		cancel()
		if err, err2 := <-leads, <-follows; !errors.Is(err, context.Canceled) || !errors.Is(err2, context.Canceled) {
			t.Errorf("the leader got %v, its follower %v", err, err2)
		}
		close(m.gate)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := in.Store(t.Context(), follower); err != nil {
			t.Error(err)
		}
		if want := []string{"a 1@1", "c 3@3"}; !slices.Equal(m.points, want) {
			t.Errorf("stored %q, want %q", m.points, want)
		}
	})
}

// Jobs that were large are not kept.
func TestLargeJobs(t *testing.T) {
	in := New(Options{Appender: &memory{}, CacheEntries: 100})
	if err := put(t.Context(), in, slices.Repeat([]point{{"a", 1, 1}}, pooledPoints+1)...); err != nil {
		t.Fatal(err)
	}
	if j := in.Job(); cap(j.Batch.Refs) > pooledPoints {
		t.Errorf("a job with memory of %d points is kept", cap(j.Batch.Refs))
	}
}

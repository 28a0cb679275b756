package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tsdbridge/tsdbridge/storage"
)

// point is a point of a series by its key.
type point struct {
	key   string
	time  int64
	value float64
}

// jobOf returns a job of points. A series is the metric that its key is.
func jobOf(in *Ingest, points ...point) *Job {
	j := in.Job()
	j.Begin()
	defer j.End()
	for i, p := range points {
		ref := j.Find([]byte(p.key))
		if ref == 0 {
			err := j.Missing([]byte(p.key), i, func(key string) (storage.Series, error) { return storage.Series{Metric: key}, nil })
			if err != nil {
				panic(err)
			}
		}
		if in.o.Forms {
			j.Batch.AddForm(ref, p.time, p.value, storage.FormFloat)
		} else {
			j.Batch.Add(ref, p.time, p.value)
		}
	}
	return j
}

// put stores points in a job of their own.
func put(ctx context.Context, in *Ingest, points ...point) error {
	j := jobOf(in, points...)
	defer j.Release()
	return in.Store(ctx, j)
}

// Jobs that come while an append is under way are appended together.
func TestAppendsInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan error)}
		in := New(Options{Appender: m, CacheEntries: 100, Appends: 1, Forms: true})
		errs := make([]error, 6)
		var group sync.WaitGroup
		begin := func(ctx context.Context, n int) {
			group.Go(func() { errs[n] = put(ctx, in, point{"m", int64(n), float64(n)}) })
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		begin(t.Context(), 0) // is being appended
		begin(t.Context(), 1) // leads the next group
		begin(t.Context(), 2)
		begin(ctx, 3)
		cancel()
		synctest.Wait()
		begin(t.Context(), 4)
		m.gate <- nil
		m.gate <- nil
		group.Wait()
		if m.appends != 2 {
			t.Errorf("%d appends", m.appends)
		}
		slices.Sort(m.points)
		if want := []string{"m 0@0", "m 1@1", "m 2@2", "m 4@4"}; !slices.Equal(m.points, want) {
			t.Errorf("stored %q", m.points)
		}
		if !errors.Is(errs[3], context.Canceled) {
			t.Errorf("the job that left got %v", errs[3])
		}
		for _, n := range []int{0, 1, 2, 4} {
			if errs[n] != nil {
				t.Errorf("job %d: %v", n, errs[n])
			}
		}
	})
}

// What the store refuses of a group is refused only to the job with that point.
func TestOneOfAGroupIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := fmt.Errorf("time: %w", storage.ErrInvalid)
		m := &memory{gate: make(chan error)}
		in := New(Options{Appender: m, CacheEntries: 100, Appends: 1})
		errs := make([]error, 3)
		var group sync.WaitGroup
		for n := range errs {
			group.Go(func() { errs[n] = put(t.Context(), in, point{"m", int64(n), 1}) })
			synctest.Wait()
		}
		for _, err := range []error{nil, refused, refused, nil} {
			m.gate <- err
		}
		group.Wait()
		if errs[0] != nil || !errors.Is(errs[1], storage.ErrInvalid) || errs[2] != nil {
			t.Errorf("errors %v", errs)
		}
		if len(m.points) != 2 {
			t.Errorf("stored %q", m.points)
		}
	})
}

// A group is bounded: jobs that do not fit form the next group.
func TestGroupSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{gate: make(chan error)}
		in := New(Options{Appender: m, CacheEntries: 100, Appends: 1})
		large := slices.Repeat([]point{{"m", 1, 1}}, GroupPoints-1)
		var group sync.WaitGroup
		for _, n := range []int{1, len(large), 1, 1, len(large), 2} {
			group.Go(func() {
				if err := put(t.Context(), in, large[:n]...); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(m.gate)
		group.Wait()
		if m.appends != 4 { // 1; large+1; 1+large; 2
			t.Errorf("%d appends, want 4", m.appends)
		}
	})
}

// Series that several jobs need while a call is under way are resolved in one call, each once; each
// job gets its own answers.
func TestResolvesInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no region server")
		m := &memory{resolving: make(chan struct{}), refuse: func(name string) error {
			switch name {
			case "down":
				return down
			case "bad":
				return storage.ErrInvalid
			}
			return nil
		}}
		in := New(Options{Appender: m, CacheEntries: 100, Appends: 1})
		errs := make([]error, 4)
		var group sync.WaitGroup
		for n, points := range [][]point{
			{{"first", 0, 0}},
			{{"a", 1, 1}, {"b", 1, 1}, {"a", 2, 1}},
			{{"b", 2, 2}, {"down", 2, 2}},
			{{"bad", 3, 3}, {"a", 3, 3}},
		} {
			group.Go(func() { errs[n] = put(t.Context(), in, points...) })
			synctest.Wait()
		}
		close(m.resolving)
		group.Wait()
		if want := []string{"first", "a b down bad"}; !slices.Equal(m.resolved, want) {
			t.Errorf("resolved %q, want %q", m.resolved, want)
		}
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], down) || errs[3] != nil {
			t.Errorf("errors %v", errs)
		}
		slices.Sort(m.points)
		if want := []string{"a 1@1", "a 1@2", "a 3@3", "b 1@1", "first 0@0"}; !slices.Equal(m.points, want) {
			t.Errorf("stored %q, want %q", m.points, want)
		}
	})
}

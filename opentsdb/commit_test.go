package opentsdb

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

// gated is an Appender whose appends wait for the test.
type gated struct {
	*memory
	open chan error
}

func (g *gated) Append(ctx context.Context, b *storage.Batch) error {
	if err := <-g.open; err != nil {
		return err
	}
	return g.memory.Append(ctx, b)
}

func batchOf(times ...int64) *storage.Batch {
	b := newBatch()
	for _, t := range times {
		addPoint(b, 1, point{integerNumber(t), stamp{time: t}}, storage.FormFloat)
	}
	return b
}

// While one append is under way, those that come are appended together.
func TestCommitGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{newMemory(), make(chan error)}
		g.names = []string{"m"}
		c := newCommitter(g, 1)
		errs := make([]error, 6)
		var group sync.WaitGroup
		commit := func(ctx context.Context, n int) {
			group.Go(func() { errs[n] = c.commit(ctx, batchOf(int64(n))) })
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		commit(t.Context(), 0) // is being appended
		commit(t.Context(), 1) // leads the next group
		commit(t.Context(), 2)
		commit(ctx, 3)
		cancel()
		synctest.Wait()
		commit(t.Context(), 4)
		g.open <- nil
		g.open <- nil
		group.Wait()
		if g.appends != 2 {
			t.Errorf("%d appends", g.appends)
		}
		got := g.stored()
		slices.Sort(got)
		if want := []string{"m 0 0i", "m 1 1i", "m 2 2i", "m 4 4i"}; !slices.Equal(got, want) {
			t.Errorf("stored %q", got)
		}
		if !errors.Is(errs[3], context.Canceled) {
			t.Errorf("who left got %v", errs[3])
		}
		for _, n := range []int{0, 1, 2, 4} {
			if errs[n] != nil {
				t.Errorf("batch %d: %v", n, errs[n])
			}
		}
	})
}

// What the store refuses of a group is refused to the one whose batch it is in.
func TestCommitRefusesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := fmt.Errorf("time: %w", storage.ErrInvalid)
		g := &gated{newMemory(), make(chan error)}
		g.names = []string{"m"}
		c := newCommitter(g, 1)
		errs := make([]error, 3)
		var group sync.WaitGroup
		for n := range errs {
			group.Go(func() { errs[n] = c.commit(t.Context(), batchOf(int64(n))) })
			synctest.Wait()
		}
		for _, err := range []error{nil, refused, refused, nil} {
			g.open <- err
		}
		group.Wait()
		if errs[0] != nil || !errors.Is(errs[1], storage.ErrInvalid) || errs[2] != nil {
			t.Errorf("errors %v", errs)
		}
		if got := g.stored(); len(got) != 2 {
			t.Errorf("stored %q", got)
		}
	})
}

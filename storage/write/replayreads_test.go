package write_test

import (
	"context"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// rowReads counts how often rows of the journal are read by key: those with the series of
// deletions.
type rowReads struct {
	*kv.Shared
	mu   sync.Mutex // guards reads
	read int
}

func (r *rowReads) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	if table == "tsdb-tree" {
		r.mu.Lock()
		r.read += len(keys)
		r.mu.Unlock()
	}
	return r.Shared.Get(ctx, table, family, keys)
}

// count returns how many rows were read since the last call.
func (r *rowReads) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.read
	r.read = 0
	return n
}

// A start reads the series of those deletions only that delete what its log has.
func TestReplayReadsLaterDeletions(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after int // deletions before and after the points of the log
	}{
		{"none", 0, 0}, {"earlier", 3, 0}, {"later", 0, 2}, {"both", 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger(t, true)
			counted := &rowReads{Shared: l.db.(*kv.Shared)}
			one, other := l.open(l.db, through), l.open(counted, buffered)
			l.points(one, 1)
			deletes := func(n int) {
				for range n {
					d := write.Deletion{IDs: l.of(0, 2), Start: deletionBegin + 20*60_000, End: deletionBegin + 40*60_000}
					_, err := one.Delete(t.Context(), d)
					one.must(err)
					l.note(d)
				}
			}
			deletes(c.before)
			other.append(l.point(0, 20, 1.5))
			other.append(l.point(0, 50, 2.5))
			other.append(l.point(1, 30, 3.5))
			deletes(c.after)
			other.stop()
			counted.count()
			other.kill(7)
			other.must(other.FollowDeletions(t.Context()))
			if got := counted.count(); got != c.after {
				t.Errorf("the start read the series of %d deletions, want %d", got, c.after)
			}
			other.flush()
			one.flush()
			l.check()
		})
	}
}

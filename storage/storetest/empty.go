package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// RunEmpty deletes series that have no points while others write to them, by each way: every
// acknowledged point stays, with its series, through ends of the process too. On shared tables two
// processes do so.
func RunEmpty(t *testing.T, c Config) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			gone := &atomic.Int64{}
			t.Cleanup(func() {
				if gone.Load() == 0 {
					t.Error("no series was ever deleted")
				}
			})
			for seed := range c.Seeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					if c.Follow == nil { // else the clock moves on, for all of them
						t.Parallel()
					}
					e := emptying{gone: gone, model: NewModel(len(list))}
					for n := range 1 + btoi(!c.Exclusive) {
						e.runs = append(e.runs, &run{
							Config: c, t: t, rng: rand.New(rand.NewPCG(seed, uint64(n))), disk: logtest.New(seed + uint64(n)), flags: way.flags, take: way.take, spread: 8000,
						})
					}
					e.all(c)
				})
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// emptying is one run of RunEmpty.
type emptying struct {
	runs []*run        // a process each
	gone *atomic.Int64 // series that were deleted

	mu    sync.Mutex // guards all below
	model *Model
	next  int64 // time of the next point
}

func (e *emptying) all(c Config) {
	first := e.runs[0]
	first.t.Helper()
	first.engine = c.New(first.t)
	e.next = begin
	e.start(Ended)
	for range 8 {
		e.clear()
		e.round()
		if fate := End(first.rng.IntN(5)); fate <= PowerFailed { // before anybody follows
			e.meet(fate)
		}
		e.check()
	}
}

// start starts the processes, and checks that series with points are found before anything registers
// series.
func (e *emptying) start(before End) {
	db := e.runs[0].engine.Open(e.runs[0].t, before)
	for _, r := range e.runs {
		r.t.Helper()
		r.db = db
		r.process = Start(r.t, db, r.options, func(o *store.Options) { r.flags(r.rng, o) })
	}
	e.follow()
	e.known()
	for _, r := range e.runs {
		r.refs = r.process.Resolve(list)
	}
}

// meet ends the processes and starts the next ones.
func (e *emptying) meet(fate End) {
	for _, r := range e.runs {
		r.t.Helper()
		r.process.Stop()
		switch fate {
		case Ended:
			r.process.End()
		case Killed:
			r.disk = r.disk.Kill(r.rng.Uint64())
		case PowerFailed:
			r.disk = r.disk.Crash(r.rng.Uint64())
		}
	}
	e.start(fate)
}

// clear deletes the points of some series, and registers those that are not.
func (e *emptying) clear() {
	r := e.runs[0]
	r.t.Helper()
	d := storage.Deletion{End: storage.MaxTime}
	for n, ref := range r.refs {
		if r.rng.IntN(2) == 0 {
			d.Refs = append(d.Refs, ref)
			e.model.Delete(n, 0, storage.MaxTime)
		}
	}
	if _, err := r.process.Delete(r.t.Context(), d); err != nil {
		r.t.Fatal(err)
	}
	e.follow()
	for _, r := range e.runs {
		r.refs = r.process.Resolve(list)
	}
}

// round has several goroutines write and delete.
func (e *emptying) round() {
	r := e.runs[0]
	r.t.Helper()
	work, ctx := errgroup.WithContext(r.t.Context())
	for _, r := range e.runs {
		for range 2 {
			rng := rand.New(rand.NewPCG(r.rng.Uint64(), 1))
			work.Go(func() error { return e.write(ctx, r, rng) })
		}
		rng := rand.New(rand.NewPCG(r.rng.Uint64(), 2))
		work.Go(func() error { return e.delete(ctx, r, rng) })
	}
	if err := work.Wait(); err != nil {
		r.t.Fatal(err)
	}
}

// write appends a few points, each to one series.
func (e *emptying) write(ctx context.Context, r *run, rng *rand.Rand) error {
	for range rng.IntN(3) {
		n := rng.IntN(len(list))
		e.mu.Lock()
		at := e.next
		e.next += 60_000
		e.mu.Unlock()
		var b storage.Batch
		b.Add(r.refs[n], at, float64(at))
		if err := r.take(rng, r.process.Store).Append(ctx, &b); err != nil {
			return err
		}
		e.mu.Lock()
		e.model.Put(n, at, Sample{Bits: math.Float64bits(float64(at))})
		e.mu.Unlock()
	}
	return nil
}

// delete deletes series that have no points.
func (e *emptying) delete(ctx context.Context, r *run, rng *rand.Rand) error {
	for range 3 {
		refs := []storage.Ref{r.refs[rng.IntN(len(list))], r.refs[rng.IntN(len(list))]}
		deleted, err := r.process.DeleteEmpty(ctx, refs)
		if err != nil && !errors.Is(err, storage.ErrNotEmpty) {
			return err
		}
		e.gone.Add(int64(deleted.Series))
	}
	return nil
}

// follow has the processes of shared tables put what they have and follow the deletions of each other.
func (e *emptying) follow() {
	for range e.runs { // what the first has put is followed by the others
		for _, r := range e.runs {
			r.t.Helper()
			if r.Follow == nil {
				continue
			}
			if err := r.Follow(r.t.Context(), r.process.Store); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// check reads all points.
func (e *emptying) check() {
	e.follow()
	e.known()
	for _, r := range e.runs {
		r.t.Helper()
		if diff := e.model.Diff(Read(r.t, r.process.Store, r.refs)); diff != "" {
			r.t.Fatalf("points (-want +got):\n%s", diff)
		}
	}
}

// known waits until series with points are found by tsdb-meta: on shared tables by a process that knows
// nothing else, and soon, since processes follow deletions from time to time.
func (e *emptying) known() {
	r := e.runs[0]
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		missing := e.missing(r)
		switch {
		case missing == nil:
			return
		case r.Exclusive || time.Now().After(deadline):
			r.t.Fatalf("%v have points and are not found", missing)
		}
		e.follow()
	}
}

// missing returns the series with points that are not found.
func (e *emptying) missing(r *run) (missing []storage.Series) {
	r.t.Helper()
	p := r.process
	if !r.Exclusive {
		p = Start(r.t, r.db, r.options, e.onlyMeta)
		defer p.Stop()
	}
	found, err := p.Find(r.t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for n, s := range list {
		if e.model.Has(n) && !slices.ContainsFunc(found, func(f storage.Found) bool { return f.String() == s.String() }) {
			missing = append(missing, s)
		}
	}
	return missing
}

// onlyMeta are the options of a process that writes nothing.
func (e *emptying) onlyMeta(o *store.Options) {
	o.Index, o.Buffer.Dir, o.Mode = storage.IndexMeta, "", write.Through
}

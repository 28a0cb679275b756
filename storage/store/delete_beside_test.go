package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// gated is an engine at whose gate one caller stops: the one whose context is from through. It makes
// some changes of the data table, and syncs, first. It fails when the gate is removed. Changes of
// other tables pass: appends wait for them.
type gated struct {
	kv.Local
	left    int // changes; used by that caller alone
	reached chan struct{}
	removed chan struct{}
}

type gateKey struct{}

func newGated(changes int) *gated {
	return &gated{Local: kv.NewMem(storetest.Tables()...), left: changes, reached: make(chan struct{}), removed: make(chan struct{})}
}

func (*gated) through(ctx context.Context) context.Context {
	return context.WithValue(ctx, gateKey{}, true)
}

func (g *gated) pass(ctx context.Context, table string) error {
	if ctx.Value(gateKey{}) == nil || table != "tsdb" {
		return nil
	}
	if g.left--; g.left >= 0 {
		return nil
	}
	if g.left == -1 {
		close(g.reached)
	}
	<-g.removed
	return errFails
}

func (g *gated) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := g.pass(ctx, table); err != nil {
		return err
	}
	return g.Local.Apply(ctx, table, family, rows)
}

func (g *gated) ApplyUnlogged(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := g.pass(ctx, table); err != nil {
		return err
	}
	return g.Local.ApplyUnlogged(ctx, table, family, rows)
}

func (g *gated) Flush(ctx context.Context) error {
	if err := g.pass(ctx, "tsdb"); err != nil {
		return err
	}
	return g.Local.Flush(ctx)
}

// TestFlushBesideDeletion stops a deletion before each of its changes in turn. Meanwhile points are
// appended: what the deletion does not touch is flushed, and the rest waits. Then the process is
// killed. The next one finishes the deletion, and has all of those points.
func TestFlushBesideDeletion(t *testing.T) {
	for n := range 1 << 3 {
		d := stoppedDeletion{whole: n&1 != 0, power: n&2 != 0, through: n&4 != 0}
		for d.changes = 0; d.stops(t); d.changes++ {
		}
		if d.changes < 3 {
			t.Errorf("%+v: stopped %d times", d, d.changes)
		}
	}
}

// stoppedDeletion is a deletion that stops in the middle.
type stoppedDeletion struct {
	whole   bool // a deletion of series
	power   bool // the power fails afterwards; else the process is killed
	through bool // writes go through the log only where they must
	changes int  // before it stops
}

// stops reports whether the deletion has a change at which it stops.
func (s stoppedDeletion) stops(t *testing.T) bool {
	t.Helper()
	db, disk := newGated(s.changes), logtest.New(uint64(s.changes))
	var registry *prometheus.Registry
	options := func(o *store.Options) {
		registry = prometheus.NewRegistry()
		o.Registerer = registry
		o.Buffer.FlushDelay, o.Buffer.CheckInterval = 0, 1<<60
		if s.through {
			o.Mode, o.LogUnacknowledged = write.Through, true
		}
	}
	p := storetest.StartBuffered(t, db, disk, options)
	refs, m := p.Resolve(deleteList), storetest.NewModel(len(deleteList))
	fill(t, p.Store, refs, m)
	p.Resolve([]storage.Series{storetest.Series("m", "host", "z")}) // the rows of the metric do not go as a range
	d := storage.Deletion{Refs: refs[:2], Start: deleteBegin + 30*60_000, End: deleteBegin + 130*60_000, Whole: s.whole}
	done := make(chan error, 1)
	go func() {
		_, err := p.Delete(db.through(t.Context()), d)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		checkDeletions(t, registry, 1, 0, 0)
		return false
	case <-db.reached:
	}
	checkDeletions(t, registry, 0, 0, 1)
	if s.whole {
		d.Start, d.End = 0, storage.MaxTime
	}
	m.Delete(0, d.Start, d.End)
	m.Delete(1, d.Start, d.End)
	s.writeBeside(t, p, refs, m)
	p.Stop()
	close(db.removed)
	if err := <-done; err == nil {
		t.Errorf("%+v: the deletion did not fail", s)
	}
	checkDeletions(t, registry, 0, 1, 1)
	if s.power {
		disk = disk.Crash(7)
	} else {
		disk = disk.Kill(7)
	}
	p = storetest.StartBuffered(t, db, disk, options)
	if err := p.FinishDeletions(t.Context()); err != nil {
		t.Errorf("%+v: finish deletions after the start: %v", s, err)
	}
	checkDeletions(t, registry, 0, 0, 0)
	if diff := m.Diff(storetest.Read(t, p.Store, p.Resolve(deleteList))); diff != "" {
		t.Errorf("%+v (-want +got):\n%s", s, diff)
	}
	p.End()
	return true
}

// writeBeside appends points, in more than a segment of the log, and flushes what is due.
func (s stoppedDeletion) writeBeside(t *testing.T, p *storetest.Process, refs []storage.Ref, m *storetest.Model) {
	t.Helper()
	write := func(n int, begin int64) {
		var b storage.Batch
		for i := range int64(60) {
			b.Add(refs[n], begin+i*60_000, float64(i)+0.1)
			m.Put(n, begin+i*60_000, storetest.Sample{Bits: math.Float64bits(float64(i) + 0.1)})
		}
		if err := p.Logged().Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	const hour = 3600_000
	waiting := 0
	for _, n := range []int{2, 0, 1} { // at first the log has nothing new of what is deleted
		for h := range []int64{4, 40, 150}[n] {
			write(n, deleteBegin+h*hour+7000) // at other instants than before
			if n < 2 && (s.whole || h < 3) {
				waiting++
			}
		}
		if err := p.FlushDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if rows := p.OpenRows(); rows != waiting {
		t.Errorf("%+v: %d rows wait in the head, want %d", s, rows, waiting)
	}
	// the third series is not touched at all
	if diff := m.Of([]int{2}).Diff(storetest.Read(t, p.Store, refs[2:])); diff != "" {
		t.Errorf("%+v: series that stays (-want +got):\n%s", s, diff)
	}
}

// checkDeletions compares the figures of deletions.
func checkDeletions(t *testing.T, registry *prometheus.Registry, made, failed, unfinished int) {
	t.Helper()
	want := fmt.Sprintf(`
# HELP tsdbridge_store_deletions_failed_total Deletions that returned an error. Those that the log has are finished later.
# TYPE tsdbridge_store_deletions_failed_total counter
tsdbridge_store_deletions_failed_total %d
# HELP tsdbridge_store_deletions_total Deletions that succeeded.
# TYPE tsdbridge_store_deletions_total counter
tsdbridge_store_deletions_total %d
# HELP tsdbridge_store_deletions_unfinished Deletions that are recorded and not carried out in the table. With the embedded engine rows that they touch wait in memory, and the log is not cut. On HBase those of all processes are counted, with the journal read every 10 s.
# TYPE tsdbridge_store_deletions_unfinished gauge
tsdbridge_store_deletions_unfinished %d
`, failed, made, unfinished)
	err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"tsdbridge_store_deletions_total", "tsdbridge_store_deletions_failed_total", "tsdbridge_store_deletions_unfinished")
	if err != nil {
		t.Error(err)
	}
}

// damaged is an engine that finds damage when rows of points are looked for.
type damaged struct {
	kv.Local
	is bool
}

func (d *damaged) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	if d.is && table == "tsdb" {
		return nil, storage.ErrDamaged
	}
	return d.Local.Get(ctx, table, family, keys)
}

// TestDeletionMeetsDamage: a deletion that meets damage is given up, with an error. Nothing waits
// for it, and the log is cut. When the damage is repaired the deletion can be made again.
func TestDeletionMeetsDamage(t *testing.T) {
	for _, whole := range []bool{false, true} {
		db, registry := &damaged{Local: kv.NewMem(storetest.Tables()...)}, prometheus.NewRegistry()
		p := storetest.StartBuffered(t, db, logtest.New(1), func(o *store.Options) {
			o.Buffer.FlushDelay, o.Buffer.CheckInterval, o.Registerer = 1<<60, 1<<60, registry
		})
		refs, m := p.Resolve(deleteList), storetest.NewModel(len(deleteList))
		fill(t, p.Store, refs, m)
		d := storage.Deletion{Refs: refs[:1], Start: deleteBegin + 30*60_000, End: deleteBegin + 130*60_000, Whole: whole}
		db.is = true
		if _, err := p.Delete(t.Context(), d); !errors.Is(err, storage.ErrDamaged) {
			t.Fatalf("whole %v: %v", whole, err)
		}
		db.is = false
		checkDeletions(t, registry, 0, 1, 0)
		if err := p.FlushAll(t.Context()); err != nil || p.OpenRows() > 0 {
			t.Errorf("whole %v: %d rows wait, %v", whole, p.OpenRows(), err)
		}
		if _, err := p.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if whole {
			d.Start, d.End = 0, storage.MaxTime
		}
		m.Delete(0, d.Start, d.End)
		if diff := m.Diff(storetest.Read(t, p.Store, p.Resolve(deleteList))); diff != "" {
			t.Errorf("whole %v (-want +got):\n%s", whole, diff)
		}
		p.End()
	}
}

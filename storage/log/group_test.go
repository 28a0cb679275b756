package log_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// gate is a disk whose fdatasync waits for a permit.
type gate struct {
	*logtest.Disk
	permits chan struct{}
	writes  int
}

func newGate() *gate {
	g := &gate{Disk: logtest.New(1), permits: make(chan struct{})}
	g.SetBefore(g.pass)
	return g
}

// pass counts writes, and has syncs wait for a permit.
func (g *gate) pass(op logtest.Op, _ string) error {
	switch op {
	case logtest.OpWrite:
		g.writes++
	case logtest.OpSyncData:
		<-g.permits
	default:
	}
	return nil
}

// TestGroup appends while an fdatasync is under way: the waiting appends share the next one, and
// its write.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		opts := small(g)
		l, err := log.Open(opts)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 20)
		appendOne := func(ctx context.Context, record string) {
			_, err := l.Append(ctx, []byte(record))
			done <- err
		}
		go appendOne(t.Context(), "alone")
		synctest.Wait() // in its fdatasync
		ctx, cancel := context.WithCancel(t.Context())
		go appendOne(ctx, "impatient")
		synctest.Wait()
		for range 9 {
			go appendOne(t.Context(), "together")
		}
		synctest.Wait()
		before := g.writes
		if len(done) > 0 {
			t.Fatal("an Append returned before its fdatasync")
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Append with its context cancelled = %v", err)
		}
		g.permits <- struct{}{}
		synctest.Wait()
		if err := <-done; err != nil || len(done) > 0 {
			t.Errorf("first Append = %v, and %d more returned", err, len(done))
		}
		if n := g.writes - before; n != 1 {
			t.Errorf("%d writes for those who waited, want 1", n)
		}
		g.permits <- struct{}{}
		for range 9 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		entries, err := replay(t, open(t, small(g.Kill(1))), log.Position{})
		if err != nil || len(entries) != 11 || string(entries[1].record) != "impatient" {
			t.Errorf("replayed %d records, %v; want 11 with the impatient one", len(entries), err)
		}
	})
}

// TestFailedGroup makes the write of a group of four fail after two of them. A record of the same
// size is then written in the place of the first: the second must not reappear after it.
func TestFailedGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		fail := false
		g.SetBefore(func(op logtest.Op, name string) error {
			if op == logtest.OpWrite && fail {
				fail = false
				return errInjected
			}
			return g.pass(op, name)
		})
		l, err := log.Open(small(g))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 10)
		appendOne := func(record string) { _, err := l.Append(t.Context(), []byte(record)); done <- err }
		go appendOne("alone")
		synctest.Wait()
		for range 4 {
			go appendOne("failed")
		}
		synctest.Wait()
		fail = true
		g.permits <- struct{}{}
		var failures int
		for range 5 {
			if err := <-done; errors.Is(err, errInjected) {
				failures++
			}
		}
		if failures != 4 {
			t.Errorf("%d Appends failed, want 4", failures)
		}
		close(g.permits)
		add(t, l, []byte("second"))
		entries, err := replay(t, open(t, small(g.Kill(1))), log.Position{})
		if err != nil || len(entries) != 2 || string(entries[1].record) != "second" {
			t.Errorf("replayed %d records, %v; want the first and the second", len(entries), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLeaderless cancels all calls that wait for the next group: Close writes it.
func TestLeaderless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l, err := log.Open(small(g))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 3)
		go func() { _, err := l.Append(t.Context(), []byte("first")); done <- err }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() { _, err := l.Append(ctx, []byte("given up")); done <- err }()
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		g.permits <- struct{}{}
		synctest.Wait()
		if len(done) != 3 {
			t.Fatalf("%d Appends returned, want 3", len(done))
		}
		closed := make(chan error)
		go func() { closed <- l.Close() }()
		g.permits <- struct{}{}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if entries, err := replay(t, open(t, small(g.Kill(1))), log.Position{}); err != nil || len(entries) != 3 {
			t.Errorf("replayed %d records, %v; want 3", len(entries), err)
		}
	})
}

// TestBoundedGroup appends more than a group holds while the disk is busy: the rest waits for the
// next group.
func TestBoundedGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l, err := log.Open(small(g))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 20)
		for range 20 { // with headers 2320 bytes, in groups of 512
			go func() { _, err := l.Append(t.Context(), make([]byte, 100)); done <- err }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		late := make(chan error)
		go func() { _, err := l.Append(ctx, make([]byte, 100)); late <- err }()
		synctest.Wait()
		cancel()
		if err := <-late; !errors.Is(err, context.Canceled) {
			t.Errorf("Append that found no room = %v", err)
		}
		close(g.permits)
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if entries, err := replay(t, open(t, small(g.Kill(1))), log.Position{}); err != nil || len(entries) != 20 {
			t.Errorf("replayed %d records, %v; want 20", len(entries), err)
		}
	})
}

// TestAllocations: an Append allocates nothing once the log has grown its buffers.
func TestAllocations(t *testing.T) {
	opts := small(stillDisk{logtest.New(1)})
	opts.SegmentBytes, opts.MaxBytes = 1<<20, 4<<20
	l := open(t, opts)
	record, ctx := make([]byte, 100), t.Context()
	n := testing.AllocsPerRun(500, func() {
		if _, err := l.Append(ctx, record[:10], record[10:]); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations an Append, want 0", n)
	}
}

// stillDisk accepts writes and discards them, without allocating.
type stillDisk struct{ *logtest.Disk }

func (d stillDisk) Create(name string) (log.File, error) {
	f, err := d.Disk.Create(name)
	return stillFile{f}, err
}

type stillFile struct{ log.File }

func (stillFile) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (stillFile) SyncData() error                        { return nil }

// TestParts appends records in several parts, small ones and one that is larger than a group and a
// segment.
func TestParts(t *testing.T) {
	disk := logtest.New(1)
	l := open(t, small(disk))
	large := slices.Repeat([]byte("0123456789"), 180)
	add(t, l, []byte("a"), nil, []byte("bc"))
	add(t, l, large[:700], large[700:])
	add(t, l, []byte("d"))
	entries, err := replay(t, open(t, small(disk.Crash(1))), log.Position{})
	if err != nil || len(entries) != 3 || string(entries[0].record) != "abc" || !slices.Equal(entries[1].record, large) || string(entries[2].record) != "d" {
		t.Errorf("replayed %d records, %v, or others", len(entries), err)
	}
	for _, size := range []int{0, 2001} {
		if _, err := l.Append(t.Context(), make([]byte, size)); !errors.Is(err, log.ErrTooLarge) {
			t.Errorf("Append of %d bytes = %v, want ErrTooLarge", size, err)
		}
	}
}

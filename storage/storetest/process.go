// Package storetest tests a store over every engine. For all orders of points, ways of writing and
// ends of the process, a read must return what a plain list returns. The package is for tests only.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Tables returns the four tables under their default names.
func Tables() []kv.Table {
	return []kv.Table{
		{Name: "tsdb", Families: []string{"t"}},
		{Name: "tsdb-uid", Families: []string{"id", "name"}},
		{Name: "tsdb-meta", Families: []string{"name"}},
		{Name: "tsdb-tree", Families: []string{"t"}},
	}
}

// A Process is a running store.
type Process struct {
	*store.Store
	t    testing.TB
	stop context.CancelFunc
	done chan error // nil when it has ended
}

// Start opens a store over db, as a starting process does, and waits until it is ready.
func Start(t testing.TB, db kv.KV, change ...func(*store.Options)) *Process {
	t.Helper()
	o := store.DefaultOptions()
	o.Exclusive = true
	for _, c := range change {
		c(&o)
	}
	s, err := store.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &Process{Store: s, t: t, stop: cancel, done: make(chan error, 1)}
	go func(done chan<- error) { done <- s.Run(ctx) }(p.done)
	t.Cleanup(func() {
		p.Stop()
		p.Store = nil // the test keeps its cleanups, and so p, until its parent ends
	})
	for s.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal(s.Ready(t.Context()))
		}
		time.Sleep(time.Millisecond)
	}
	return p
}

// Stop ends Run and nothing else: it leaves what a kill leaves. Calling it again does nothing.
func (p *Process) Stop() {
	if p.done == nil {
		return
	}
	p.stop()
	if err := <-p.done; err != nil {
		p.t.Error(err)
	}
	p.done = nil
}

// End ends the process in order.
func (p *Process) End() {
	p.t.Helper()
	p.Stop()
	if err := p.Close(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// Resolve returns the refs of series, which must be valid.
func (p *Process) Resolve(list []storage.Series) []storage.Ref {
	p.t.Helper()
	refs, errs := p.Store.Resolve(p.t.Context(), list)
	if errs != nil {
		p.t.Fatal(errs)
	}
	return refs
}

// Open starts a process over db and returns its store.
func Open(t testing.TB, db kv.KV, change ...func(*store.Options)) *store.Store {
	t.Helper()
	return Start(t, db, change...).Store
}

// Series returns a series. Tags are keys and values in turn.
func Series(metric string, tags ...string) storage.Series {
	s := storage.Series{Metric: metric}
	for i := 0; i < len(tags); i += 2 {
		s.Tags = append(s.Tags, storage.Tag{Key: tags[i], Value: tags[i+1]})
	}
	return s
}

// Resolve returns the refs of series, which must be valid.
func Resolve(t testing.TB, s *store.Store, list ...storage.Series) []storage.Ref {
	t.Helper()
	refs, errs := s.Resolve(t.Context(), list)
	if errs != nil {
		t.Fatal(errs)
	}
	return refs
}

// StartBuffered starts a process whose log is on a disk of its own.
func StartBuffered(t testing.TB, db kv.KV, disk log.FS, change ...func(*store.Options)) *Process {
	t.Helper()
	return Start(t, db, append([]func(*store.Options){func(o *store.Options) {
		o.Mode = write.Buffered
		o.Buffer.Dir, o.Buffer.FS, o.Buffer.CheckInterval, o.Buffer.SegmentBytes = "log", disk, time.Millisecond, 16<<10
	}}, change...)...)
}

package hatracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/election"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// clock is a clock that tests move.
type clock struct{ millis atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.millis.Store(1_700_000_000_000)
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.millis.Load()) }
func (c *clock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }

// table is a table that several processes write to.
func table() *kv.Shared {
	return kv.NewShared(kv.Table{Name: "tsdb-tree", Families: []string{schema.FamilyData}})
}

func bookOf(db kv.KV) Book { return election.New(kv.NewEngine(db, false), "tsdb-tree") }

func options() Options {
	o := DefaultOptions()
	o.ClusterLabel, o.ReplicaLabel = "cluster", "__replica__"
	return o
}

// process is a Tracker as of one adapter.
type process struct {
	*Tracker
	t        testing.TB
	registry *prometheus.Registry
}

func start(t testing.TB, book Book, c *clock, o Options) process {
	registry := prometheus.NewPedanticRegistry()
	tracker := New(o, Parts{Book: book, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Now: c.now})
	return process{tracker, t, registry}
}

func (p process) want(cluster, replica string, want bool) {
	p.t.Helper()
	if keep, err := p.Keep(p.t.Context(), []byte(cluster), []byte(replica)); err != nil || keep != want {
		p.t.Errorf("Keep(%s, %s) = %v, %v; want %v", cluster, replica, keep, err, want)
	}
}

// wait checks that data of a replica must come again.
func (p process) wait(cluster, replica string) {
	p.t.Helper()
	if keep, err := p.Keep(p.t.Context(), []byte(cluster), []byte(replica)); err == nil || storage.IsRefusal(err) {
		p.t.Errorf("Keep(%s, %s) = %v, %v; want an error that passes", cluster, replica, keep, err)
	}
}

// neverStored checks that data of a replica are not stored.
func (p process) neverStored(cluster, replica string) {
	p.t.Helper()
	if keep, err := p.Keep(p.t.Context(), []byte(cluster), []byte(replica)); keep {
		p.t.Errorf("Keep(%s, %s) = true, %v", cluster, replica, err)
	}
}

// silence has a replica send again and again while the elected one is silent for longer than a while.
func (p process) silence(c *clock, cluster, replica string, d time.Duration) {
	p.t.Helper()
	p.wait(cluster, replica)
	for end := c.now().Add(d); c.now().Before(end); {
		c.advance(min(5*time.Second, end.Sub(c.now())))
		p.wait(cluster, replica)
	}
	c.advance(time.Millisecond)
}

func TestElection(t *testing.T) {
	c := newClock()
	p := start(t, bookOf(table()), c, options())
	p.want("one", "a", true)
	p.want("one", "b", false)
	p.want("two", "b", true) // clusters have nothing to do with each other
	c.advance(30 * time.Second)
	p.want("one", "b", false) // silent for exactly the timeout
	c.advance(time.Millisecond)
	p.want("one", "b", true)
	p.want("one", "a", false) // it comes back too late
	for range 10 {            // it stays elected while it is heard
		c.advance(29 * time.Second)
		p.want("one", "b", true)
		p.want("one", "a", false)
	}
	if pairs := p.Pairs(); len(pairs) != 2 || pairs[0].Elected != "b" || pairs[0].Dropped != 13 {
		t.Errorf("%+v", pairs)
	}
	if err := testutil.GatherAndCompare(p.registry, strings.NewReader(`
# HELP tsdbridge_write_dedup_elections_total Replicas that were elected, the first of a cluster too.
# TYPE tsdbridge_write_dedup_elections_total counter
tsdbridge_write_dedup_elections_total 3
`), "tsdbridge_write_dedup_elections_total"); err != nil {
		t.Error(err)
	}
}

// Who is elected is known after a restart. The time in which nobody listened is no silence.
func TestRestart(t *testing.T) {
	c, db := newClock(), table()
	start(t, bookOf(db), c, options()).want("one", "a", true)
	c.advance(20 * time.Second)
	p := start(t, bookOf(db), c, options())
	p.want("one", "b", false)
	p.want("one", "a", true)
	c.advance(time.Hour)
	p = start(t, bookOf(db), c, options())
	p.wait("one", "b")
	p.want("one", "a", true)
	p.want("one", "b", false)
	c.advance(time.Hour)
	p = start(t, bookOf(db), c, options())
	p.silence(c, "one", "b", 30*time.Second) // a is really gone
	p.want("one", "b", true)
	p.want("one", "a", false)
}

// An outage of the store is no silence of the elected replica, whatever was asked in it, whoever comes first
// after it, and through whichever process.
func TestOutage(t *testing.T) {
	for name, first := range map[string]string{"elected first": "a", "other first": "b"} {
		t.Run(name, func(t *testing.T) {
			c, db := newClock(), table()
			books := [2]*away{{Book: bookOf(db)}, {Book: bookOf(db)}}
			one, two := start(t, books[0], c, options()), start(t, books[1], c, options())
			one.want("one", "a", true)
			two.want("one", "b", false)
			for _, outage := range []time.Duration{20 * time.Second, 45 * time.Second, time.Hour} {
				for _, b := range books {
					b.err.Store(&errGone)
				}
				for left := outage; left > 0; left -= 5 * time.Second {
					c.advance(5 * time.Second)
					if keep, err := one.Keep(t.Context(), []byte("one"), []byte("a")); keep && err == nil {
						one.Done([]byte("one"), []byte("a"), false)
					}
					// here it may be dropped at first, since this process does not know of the outage
					if keep, _ := two.Keep(t.Context(), []byte("one"), []byte("b")); keep {
						t.Fatal("two replicas are elected")
					}
					one.wait("one", "b")
				}
				for _, b := range books {
					b.err.Store(nil)
				}
				if first == "b" {
					for range 5 {
						two.neverStored("one", "b")
						c.advance(5 * time.Second)
						one.neverStored("one", "b")
					}
				}
				one.want("one", "a", true)
				one.Done([]byte("one"), []byte("a"), true)
				c.advance(10 * time.Second)
				two.want("one", "b", false)
				one.want("one", "b", false)
			}
		})
	}
}

// A replica that dies in an outage is silent from its end on, and nothing that the other one sent
// since is dropped.
func TestOutageAndDeath(t *testing.T) {
	c := newClock()
	book := &away{Book: bookOf(table())}
	p := start(t, book, c, options())
	p.want("one", "a", true)
	p.Done([]byte("one"), []byte("a"), false) // the outage begins, and it dies
	book.err.Store(&errGone)
	for range 20 {
		c.advance(5 * time.Second)
		p.wait("one", "b")
	}
	book.err.Store(nil)
	p.silence(c, "one", "b", 30*time.Second)
	p.want("one", "b", true)
}

// While the elected replica cannot be stored the other one is not dropped, even if the book answers.
func TestUnstored(t *testing.T) {
	c := newClock()
	p := start(t, bookOf(table()), c, options())
	p.want("one", "a", true)
	p.Done([]byte("one"), []byte("a"), false)
	p.wait("one", "b")
	c.advance(29 * time.Second) // of a request that ended only now
	p.Done([]byte("one"), []byte("a"), false)
	c.advance(29 * time.Second)
	p.wait("one", "b")
	p.want("one", "a", true)
	p.Done([]byte("one"), []byte("a"), true)
	p.want("one", "b", false)
	p.Done([]byte("one"), []byte("b"), false) // of a time when it was elected
	p.want("one", "b", false)
	p.Done([]byte("unknown"), []byte("b"), false)
}

// A replica whose data come while the book does not answer in time is not silent, though nothing of it
// is stored: a store that comes back answers one request and not the next.
func TestHeardWithoutBook(t *testing.T) {
	c := newClock()
	book := &away{Book: bookOf(table())}
	p := start(t, book, c, options())
	p.want("one", "a", true)
	for range 3 {
		c.advance(10 * time.Second)
		p.want("one", "b", false) // reads the book, so that this stays in reach
	}
	c.advance(time.Second)
	book.err.Store(&context.Canceled)
	if keep, err := p.Keep(canceled(t), []byte("one"), []byte("a")); keep || err == nil {
		t.Fatalf("Keep(one, a) = %v, %v; want an error", keep, err)
	}
	book.err.Store(nil)
	p.wait("one", "b")
	p.want("one", "a", true)
}

// canceled returns the context of a request whose client went away.
func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A clock that was put back by an hour delays no election, in the process that heard the elected
// replica before and in one that only reads the record of the future.
func TestClockPutBack(t *testing.T) {
	c, db := newClock(), table()
	p := start(t, bookOf(db), c, options())
	p.want("one", "a", true)
	p.want("two", "a", true)
	c.advance(-time.Hour)
	p.want("two", "a", true) // which records the time of today
	for _, q := range []process{p, start(t, bookOf(db), c, options())} {
		q.want("one", "b", false)
		q.want("two", "b", false)
	}
	c.advance(29 * time.Second)
	p.want("two", "a", true)
	p.want("one", "b", false)
	c.advance(2 * time.Second)
	q := start(t, bookOf(db), c, options())
	p.want("one", "b", true)
	q.want("one", "b", true)
	q.want("one", "a", false)
	q.want("two", "b", false)
}

// Each replica sends to an adapter of its own: both know who is elected.
func TestTwoProcesses(t *testing.T) {
	c, db := newClock(), table()
	first, second := start(t, bookOf(db), c, options()), start(t, bookOf(db), c, options())
	first.want("one", "a", true)
	for range 40 {
		c.advance(5 * time.Second)
		first.want("one", "a", true)
		second.want("one", "b", false)
	}
	for range 3 { // the first process heard a once more than the record tells
		c.advance(5 * time.Second)
		second.want("one", "b", false)
	}
	c.advance(30 * time.Second)
	second.want("one", "b", true)
	first.want("one", "a", false)
	first.want("one", "b", true)
}

// A process that has looked at the record just before another one elected a replica drops nothing of that one.
func TestElectedElsewhere(t *testing.T) {
	c, db := newClock(), table()
	first, second := start(t, bookOf(db), c, options()), start(t, bookOf(db), c, options())
	first.want("one", "a", true)
	second.want("one", "b", false)
	c.advance(14 * time.Second)
	first.want("one", "a", true) // the record does not tell this
	for range 8 {
		c.advance(2 * time.Second)
		second.want("one", "b", false)
	}
	first.want("one", "b", false)
	c.advance(500 * time.Millisecond)
	second.want("one", "b", true)
	first.want("one", "b", true)
}

// Of replicas that come at once, to several processes, one is elected.
func TestRace(t *testing.T) {
	c, db := newClock(), table()
	var processes [8]process
	for n := range processes {
		processes[n] = start(t, bookOf(db), c, options())
	}
	for round := range 20 {
		var kept atomic.Int32
		var all sync.WaitGroup
		for n, p := range processes {
			all.Go(func() {
				keep, err := p.Keep(t.Context(), []byte("one"), fmt.Appendf(nil, "%d of %d", n, round))
				if err != nil {
					t.Error(err)
				}
				if keep {
					kept.Add(1)
				}
			})
		}
		all.Wait()
		if kept.Load() != 1 {
			t.Fatalf("round %d: %d replicas are elected", round, kept.Load())
		}
		c.advance(16 * time.Second)
		for _, p := range processes {
			p.want("one", "another", false)
		}
		c.advance(15 * time.Second)
	}
}

func TestLimits(t *testing.T) {
	c, db := newClock(), table()
	o := options()
	o.Clusters = 2
	p := start(t, bookOf(db), c, o)
	p.want("one", "a", true)
	p.want("two", "a", true)
	if _, err := p.Keep(t.Context(), []byte("three"), []byte("a")); !errors.Is(err, storage.ErrLimit) || !strings.Contains(err.Error(), "--write.dedup.max-clusters") {
		t.Error(err)
	}
	c.advance(idle)
	p.want("two", "a", true)
	p.want("three", "a", true) // in the place of one
	if e, err := bookOf(db).Read(t.Context(), "one"); err != nil || e.Elected != "" {
		t.Error("a forgotten cluster is still in the table:", e, err)
	}
	if _, err := p.Keep(t.Context(), []byte("one"), []byte("a")); !errors.Is(err, storage.ErrLimit) {
		t.Error(err)
	}
	long := []byte(strings.Repeat("x", maxName+1))
	broken := []byte("\xff")
	for _, pair := range [][2][]byte{{long, []byte("a")}, {[]byte("two"), long}, {broken, []byte("a")}, {[]byte("two"), broken}} {
		if _, err := p.Keep(t.Context(), pair[0], pair[1]); !errors.Is(err, storage.ErrInvalid) {
			t.Error(err)
		}
	}
}

var errGone = errors.New("gone")

// away is a book that can be away.
type away struct {
	Book
	err atomic.Pointer[error]
}

func (b *away) Read(ctx context.Context, name string) (storage.ElectionEntry, error) {
	if err := b.err.Load(); err != nil {
		return storage.ElectionEntry{}, *err
	}
	return b.Book.Read(ctx, name)
}

// Without the book the elected replica goes on as long as no other process can elect another one.
func TestBookAway(t *testing.T) {
	c := newClock()
	book := &away{Book: bookOf(table())}
	p := start(t, book, c, options())
	p.want("one", "a", true)
	book.err.Store(&errGone)
	c.advance(20 * time.Second)
	p.want("one", "a", true)
	p.wait("one", "b")
	c.advance(11 * time.Second)
	for _, replica := range []string{"a", "b"} {
		_, err := p.Keep(t.Context(), []byte("one"), []byte(replica))
		if replica == "a" && (err == nil || storage.IsRefusal(err)) {
			t.Errorf("%s: %v", replica, err)
		}
	}
	if _, err := p.Keep(t.Context(), []byte("new"), []byte("a")); err == nil || storage.IsRefusal(err) {
		t.Error(err)
	}
	book.err.Store(nil)
	p.want("one", "a", true)
	p.want("new", "b", true)
}

func TestValidate(t *testing.T) {
	for flag, change := range map[string]func(*Options){
		"need each other":  func(o *Options) { o.ReplicaLabel = "" },
		"are both":         func(o *Options) { o.ReplicaLabel = o.ClusterLabel },
		"__name__":         func(o *Options) { o.ReplicaLabel = "__name__" },
		"failover-timeout": func(o *Options) { o.Failover = 0 },
		"max-clusters":     func(o *Options) { o.Clusters = 0 },
	} {
		o := options()
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if err := options().Validate(); err != nil {
		t.Error(err)
	}
	if err := DefaultOptions().Validate(); err != nil || DefaultOptions().Enabled() {
		t.Error(err)
	}
}

func BenchmarkKeep(b *testing.B) {
	c := newClock()
	p := start(b, bookOf(table()), c, options())
	for range b.N {
		p.want("one", "a", true)
	}
}

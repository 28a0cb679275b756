package compact

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

const (
	// lookEvery is how often a process looks for work; hours close one by one.
	lookEvery = time.Minute
	// Quiet is the usual Options.Quiet. A TSD's own compaction of a row takes seconds.
	Quiet = 10 * time.Minute
	// lateAfter is how long after its first look an hour is looked at again, for points that came
	// late and rows that were not quiet; lateHours is how many hours are looked at together then.
	lateAfter = 24 * time.Hour
	lateHours = 6
	// horizon is how far back the hours lie that are compacted when a table is compacted for the
	// first time.
	horizon = 7 * 24 * time.Hour
	// MinAfter is the least of Options.After: a row that is written to is not closed.
	MinAfter = 15 * time.Minute
)

// Options are what a Compactor needs.
type Options struct {
	// DB has Versioned.
	DB *kv.Engine
	// Data is the table of points.
	Data string
	// Leases is the table of trees, which also contains the leases.
	Leases string
	Layout schema.Layout
	// After is how long after the end of its hour a row counts as closed.
	After time.Duration
	// Quiet is how long a row must have been without writes and deletions before it is compacted.
	Quiet      time.Duration
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Compactor compacts the closed rows of a table. Its methods are safe for concurrent use, but Run
// and Look compact one after the other.
type Compactor struct {
	o       Options
	owner   string // this process, in leases
	metrics *metrics
	brake   brake

	mu         sync.Mutex // held by a look; guards reconciler
	reconciler row.Reconciler

	statusMu sync.Mutex // guards all below
	status   Status
	told     time.Time // when it was last logged what the passes did
}

// Status is what a process last saw of the compaction of closed rows.
type Status struct {
	Parts   int       // of the table, each of which has a lease
	Others  int       // of them, compacted by other processes at that time
	Until   time.Time // all closed rows before were looked at; zero: not known yet
	Err     error     // of the last look
	Rows    int64     // compacted by this process
	Removed int64     // cells, by this process
}

// String is a line for people.
func (s Status) String() string {
	switch {
	case s.Err != nil:
		return fmt.Sprintf("closed rows: %v", s.Err)
	case s.Until.IsZero():
		return "closed rows: not looked at yet"
	}
	return fmt.Sprintf("closed rows: compacted before %s, in %d parts, %d of them by other processes; this process removed %d cells of %d rows",
		s.Until.Format(time.RFC3339), s.Parts, s.Others, s.Removed, s.Rows)
}

// New returns a Compactor, which does nothing before Run.
func New(o Options) *Compactor {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return &Compactor{o: o, owner: hex.EncodeToString(id), metrics: newMetrics(o.Registerer), brake: brake{now: time.Now}}
}

// Run looks for closed rows until ctx ends.
func (c *Compactor) Run(ctx context.Context) error {
	var looked retry.Outcome
	for retry.Sleep(ctx, lookEvery) {
		err := c.Look(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			c.metrics.errors.Inc()
		}
		if looked.Note(ctx, err) {
			c.o.Logger.Warn("closed rows cannot be compacted, which is tried again; see TsdbridgeUpkeepFailing in docs/monitoring.md", "table", c.o.Data, "err", err)
		}
	}
	return nil
}

// Status returns what was seen by the last look.
func (c *Compactor) Status() Status {
	c.statusMu.Lock()
	defer c.statusMu.Unlock()
	return c.status
}

// Look compacts what is closed, in all parts of the table that no other process has a lease of.
func (c *Compactor) Look(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.look(ctx)
	c.note(func(s *Status) { s.Err = err })
	return err
}

func (c *Compactor) look(ctx context.Context) error {
	parts, err := c.parts(ctx)
	if err != nil {
		return fmt.Errorf("look for the regions of %s: %w", c.o.Data, err)
	}
	others, err := c.round(ctx, parts, c.next)
	if err != nil {
		return err
	}
	if _, err := c.round(ctx, parts, c.nextWalk); err != nil {
		return err
	}
	book, err := c.readLeases(ctx)
	if err == nil {
		c.noteParts(parts, others, book)
	}
	return err
}

// A chooser returns a lease with the work that is to be done next. It is false if there is none.
type chooser func(l own.Lease, now time.Time) (own.Lease, bool)

// round works on each part once, and returns how many parts other processes work on.
func (c *Compactor) round(ctx context.Context, parts []part, next chooser) (others int, err error) {
	book, err := c.readLeases(ctx)
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, p := range parts {
		held, err := c.work(ctx, p, book.of(p), next)
		if held {
			others++
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return others, errors.Join(failed...)
}

// noteParts notes how far the parts are.
func (c *Compactor) noteParts(parts []part, others int, book leases) {
	until := uint32(0)
	for i, p := range parts {
		if done := book.of(p).Done; i == 0 || done < until {
			until = done
		}
	}
	c.note(func(s *Status) {
		s.Parts, s.Others, s.Until = len(parts), others, time.Time{}
		if until > 0 {
			s.Until = time.Unix(int64(until), 0).UTC()
		}
	})
	c.metrics.until.Set(float64(until))
}

func (c *Compactor) note(change func(*Status)) {
	c.statusMu.Lock()
	defer c.statusMu.Unlock()
	change(&c.status)
}

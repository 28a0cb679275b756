// Package layoutcheck checks that the UID widths and the salt of the flags are those with which shared
// tables were filled. OpenTSDB's tables record neither: with other values everything seems to work,
// and what is written spoils the tables for all processes. So a handful of rows is read before
// anything is written. The package reads keys and UIDs; it never writes, and never reads a point.
package layoutcheck

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Options of a Checker.
type Options struct {
	// Data, UID and Meta are the names of tables.
	Data, UID, Meta string
	Layout          schema.Layout
	Logger          *slog.Logger
	// Wait is how long a check before the first UID waits for the rows of another process that
	// draws UIDs at the same moment (default 1 s).
	Wait time.Duration
}

// A Checker compares a layout with the rows of tables. Tables without rows fit every layout, so
// they are checked again until they have some. Safe for concurrent use.
type Checker struct {
	db kv.KV
	o  Options
	// turn lets one look at the tables run at a time.
	turn chan struct{}
	// What was found to fit stays so: nothing is checked twice.
	uids [3]atomic.Bool // by kind
	rows atomic.Bool
	meta atomic.Bool
	warn atomic.Bool // rows of other layouts were reported
}

// New returns a checker that has seen nothing yet.
func New(db kv.KV, o Options) *Checker {
	if o.Wait == 0 {
		o.Wait = time.Second
	}
	return &Checker{db: db, o: o, turn: make(chan struct{}, 1)}
}

// Seen reports whether rows of all kinds were seen and fit: there is nothing left to check.
func (c *Checker) Seen() bool { return c.uidsSeen() && c.rows.Load() }

func (c *Checker) uidsSeen() bool {
	for k := range c.uids {
		if !c.uids[k].Load() {
			return false
		}
	}
	return true
}

// Check looks at the tables, unless it has seen enough. The error is an ErrLayout that names the
// flags and what fits, or the engine's.
func (c *Checker) Check(ctx context.Context) error {
	if c.Seen() {
		return nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.Seen() {
		return nil
	}
	return c.look(ctx)
}

// BeforeUID is Check for a process that is about to give a name the id of a kind which its counter
// has just drawn. Where the id is not the first one, another process has drawn the ids before, and
// its rows show which width it uses as soon as they are there.
func (c *Checker) BeforeUID(ctx context.Context, kind storage.NameKind, id int64) error {
	if id <= 1 || c.uids[kind].Load() {
		return c.Check(ctx)
	}
	const pause = 20 * time.Millisecond
	for until := time.Now().Add(c.o.Wait); ; {
		if err := c.Check(ctx); err != nil || c.uids[kind].Load() || time.Now().After(until) {
			return err // the ids before may be lost: a counter moves before rows are there
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// look reads rows of the tables and validates them, except what was found to fit before.
func (c *Checker) look(ctx context.Context) error {
	var uids uidsFound
	var data, meta []rowSeen
	group, groupCtx := errgroup.WithContext(ctx)
	if !c.uidsSeen() {
		group.Go(func() (err error) { uids, err = c.findUIDs(groupCtx); return err })
	}
	if !c.meta.Load() {
		group.Go(func() (err error) { meta, err = c.sample(groupCtx, c.o.Meta, schema.FamilyMeta); return err })
	}
	group.Go(func() (err error) { data, err = c.sample(groupCtx, c.o.Data, schema.FamilyData); return err })
	if err := group.Wait(); err != nil {
		return fmt.Errorf("compare the flags with the tables: %w", err)
	}
	if wrong := c.validate(uids, data, meta); len(wrong) > 0 {
		return fmt.Errorf("%w: %s", storage.ErrLayout, strings.Join(wrong, "; "))
	}
	for k := range c.uids {
		c.uids[k].Store(c.uids[k].Load() || len(uids[k]) > 0)
	}
	c.meta.Store(c.meta.Load() || len(meta) > 0)
	c.rows.Store(len(data) > 0)
	return nil
}

// validate returns what is wrong.
func (c *Checker) validate(uids uidsFound, data, meta []rowSeen) []string {
	var wrong []string
	layout := c.o.Layout // with the widths that the table has
	for _, kind := range storage.NameKinds() {
		if text := c.validateUIDs(kind, uids[kind], &layout); text != "" {
			wrong = append(wrong, text)
		}
	}
	if text := c.validateRows(uids, data, layout); text != "" {
		wrong = append(wrong, text)
	}
	if len(wrong) == 0 {
		if text := c.validateMeta(meta); text != "" {
			wrong = append(wrong, text)
		}
	}
	return wrong
}

// warnOnce logs that a table has rows that do not fit in addition to rows that do.
func (c *Checker) warnOnce(table, text string) {
	if !c.warn.Swap(true) {
		c.o.Logger.Warn("some rows were written with other UID widths or another salt, and reads with these flags do not find them; set --storage.uid-width.* and --storage.salt.* as those who wrote them", "table", table, "found", text)
	}
}

package fsck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Names are the names of UIDs, and the UIDs of names; "" where there is none.
type Names interface {
	Names(ctx context.Context, kind storage.NameKind, uids []string) ([]string, error)
	Lookup(ctx context.Context, kind storage.NameKind, names []string) ([]string, error)
}

// Options are what a Checker needs.
type Options struct {
	DB     *kv.Engine
	Tables storage.Tables
	Layout schema.Layout
	Names  Names
	// Rolled are the tables of values of longer intervals, which have keys like the data table.
	Rolled []string
	// Archives are those of Graphite's series; nil: there are none.
	Archives *Archives
	// Alone makes a change of a table that no other process writes to, while no points are put.
	Alone func(change func() error) error
	// Register makes a series known whose rows from one base time to another are there; nil: nothing can.
	Register func(ctx context.Context, tsuid []byte, first, last uint32) error
	Now      func() time.Time
}

// Quiet is how long a row of a shared table must have been without writes and deletions before it
// is mended: a TSD may be compacting it, or a writer correcting it.
const Quiet = 10 * time.Minute

// A Checker checks tables. It is safe for concurrent use.
type Checker struct {
	o                 Options
	series, strangers int // bounds: seriesAtOnce, strangersAtOnce
}

// New returns a Checker.
func New(o Options) *Checker { return &Checker{o, seriesAtOnce, strangersAtOnce} }

// A Query is what is to be checked, and what to mend.
type Query struct {
	// Tables limits the check to some of TableWords; none: all.
	Tables []string `json:"tables,omitempty"`
	// Metrics limits the check to rows of these; none: all rows.
	Metrics []string `json:"metrics,omitempty"`
	// From and Before limit it to rows with base times from one to another, seconds; Before is excluded,
	// and 0 is no limit. Rows whose keys have no time are left out then.
	From   uint32 `json:"from,omitempty"`
	Before uint32 `json:"before,omitempty"`
	// Fix are the kinds of findings that are mended.
	Fix []Kind `json:"fix,omitempty"`
}

func (q *Query) timed() bool { return q.From > 0 || q.Before > 0 }

// Whole reports whether no rows are left out by their metric or time.
func (q *Query) Whole() bool { return !q.timed() && len(q.Metrics) == 0 }

// before returns the base time that is excluded: that of the last hour is above all of them.
func (q *Query) before() uint32 {
	if q.Before == 0 {
		return math.MaxUint32
	}
	return q.Before
}

func (q *Query) fixes() map[Kind]bool {
	fix := make(map[Kind]bool, len(q.Fix))
	for _, k := range q.Fix {
		fix[k] = infoOf(k).Mend != None
	}
	return fix
}

// ErrUnknown means that a metric of a query does not exist.
var ErrUnknown = errors.New("no such metric")

// A Stretch is a range of rows of a table that is checked in one go: from From up to To, which is
// excluded; an empty To is the end of the table.
type Stretch struct {
	Table string `json:"table"`
	From  []byte `json:"from,omitempty"`
	To    []byte `json:"to,omitempty"`
}

func (c *Checker) split(ctx context.Context, s kv.Scan, n int) ([]kv.Scan, error) {
	splitter, ok := c.o.DB.KV.(kv.Splitter)
	if !ok {
		return []kv.Scan{s}, nil
	}
	return splitter.Split(ctx, s, n)
}

// A Step is what was checked since the step before.
type Step struct {
	At       []byte    `json:"at,omitempty"` // all rows of the stretch before this key are checked
	Rows     int64     `json:"rows"`
	Cells    int64     `json:"cells"`
	Findings []Finding `json:"findings,omitempty"`
}

const (
	// pageRows and pageBytes bound what of a stretch is in memory.
	pageRows  = 1024
	pageBytes = 8 << 20
)

// Check checks a stretch and reports each step; an error of report ends it.
func (c *Checker) Check(ctx context.Context, s Stretch, q Query, report func(Step) error) error {
	if s.Table == c.o.Tables.Meta {
		w := &metaCheck{Checker: c, query: q, fix: q.fixes(), report: report}
		return w.metrics(ctx, s.From, s.To)
	}
	if c.o.Archives != nil && s.Table == c.o.Archives.Table {
		w := &archiveCheck{Checker: c, fix: q.fixes(), report: report}
		return w.rows(ctx, s.From, s.To)
	}
	if s.Table != c.o.Tables.Data {
		return fmt.Errorf("table %q is not checked", s.Table)
	}
	w := &dataCheck{Checker: c, fix: q.fixes(), report: report}
	if !q.timed() || len(q.Metrics) > 0 {
		return w.rows(ctx, s.From, s.To)
	}
	return w.hours(ctx, s, q)
}

// dataCheck is the check of a stretch of the data table.
type dataCheck struct {
	*Checker
	fix    map[Kind]bool
	report func(Step) error
}

// hours checks the rows of some hours, of one metric after the other.
func (w *dataCheck) hours(ctx context.Context, s Stretch, q Query) error {
	for at := s.From; ; {
		key, err := w.first(ctx, at, s.To)
		if err != nil || key == nil {
			return err
		}
		rows, ok := w.o.Layout.RowsBetween(key, q.From, q.before())
		if ok {
			from, to := rows.From, rows.To
			if bytes.Compare(from, key) < 0 {
				from = key
			}
			if len(s.To) > 0 && bytes.Compare(s.To, to) < 0 {
				to = s.To
			}
			if bytes.Compare(from, to) < 0 {
				if err := w.rows(ctx, from, to); err != nil {
					return err
				}
			}
		}
		if at = rows.Next; at == nil {
			return nil
		}
	}
}

// first returns the first key from a key on; nil: there is none.
func (w *dataCheck) first(ctx context.Context, from, to []byte) ([]byte, error) {
	scan := kv.Scan{Table: w.o.Tables.Data, Family: schema.FamilyData, Start: from, Stop: to, KeysOnly: true, Limit: 1}
	for r, err := range w.o.DB.Scan(ctx, scan) {
		return r.Key, err
	}
	return nil, nil
}

// rows checks the rows from one key to another.
func (w *dataCheck) rows(ctx context.Context, from, to []byte) error {
	return w.eachPage(ctx, w.o.Tables.Data, from, to, w.check, w.report)
}

// A checkPage checks rows and mends them.
type checkPage func(ctx context.Context, page []kv.Row) ([]Finding, error)

// eachPage reads the rows of a table from one key to another, checks them page by page, and reports
// what is found.
func (c *Checker) eachPage(ctx context.Context, table string, from, to []byte, check checkPage, report func(Step) error) error {
	for {
		page, next, err := c.page(ctx, table, from, to)
		if err != nil {
			return err
		}
		step := Step{At: next, Rows: int64(len(page))}
		if next == nil {
			step.At = to
		}
		for i := range page {
			step.Cells += int64(len(page[i].Cells))
		}
		if step.Findings, err = check(ctx, page); err != nil {
			return err
		}
		if err := report(step); err != nil || next == nil {
			return err
		}
		from = next
	}
}

// page reads some rows of a table, and returns where to continue; nil at the end.
func (c *Checker) page(ctx context.Context, table string, from, to []byte) (page []kv.Row, next []byte, err error) {
	size := 0
	for r, err := range c.o.DB.Scan(ctx, kv.Scan{Table: table, Family: schema.FamilyData, Start: from, Stop: to}) {
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", table, err)
		}
		page = append(page, r)
		for _, cell := range r.Cells {
			size += len(cell.Qualifier) + len(cell.Value) + cellBytes
		}
		if len(page) == pageRows || size >= pageBytes {
			return page, append(slices.Clone(r.Key), 0), nil
		}
	}
	return page, nil, nil
}

// cellBytes is what a cell takes in memory in addition to its bytes.
const cellBytes = 64

// check checks rows and mends them.
func (w *dataCheck) check(ctx context.Context, page []kv.Row) ([]Finding, error) {
	all, err := w.findings(ctx, page)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, r := range all {
		if len(r.list) == 0 {
			continue
		}
		if r.mendable(w.fix) {
			if err := w.mend(ctx, r); err != nil {
				return nil, err
			}
		}
		if err := w.describe(ctx, r); err != nil {
			return nil, err
		}
		found = append(found, r.list...)
	}
	return found, nil
}

// findings checks rows.
func (w *dataCheck) findings(ctx context.Context, page []kv.Row) ([]*dataRow, error) {
	all := make([]*dataRow, len(page))
	named := make([]named, 0, len(page))
	for i := range page {
		r := checkDataRow(w.o.Layout, w.o.Tables.Data, page[i])
		if all[i] = r; !r.has(BadKey) && !r.id.IsGlobal() {
			named = append(named, r.named())
		}
	}
	return all, w.checkNames(ctx, named)
}

func (r *dataRow) named() named { return named{&r.findings, r.id.Metric, r.id.Tags} }

// describe tells in words of which series and hour a row is.
func (w *dataCheck) describe(ctx context.Context, r *dataRow) error {
	if r.has(BadKey) {
		return nil
	}
	text := "global annotations"
	if !r.id.IsGlobal() {
		var err error
		if text, err = w.seriesText(ctx, r.named()); err != nil {
			return err
		}
	}
	r.describe(text + " " + time.Unix(int64(r.id.Base), 0).UTC().Format(time.RFC3339))
	return nil
}

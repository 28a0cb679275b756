package job

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Late notes the hours of points that change after their intervals may have been filled. It is safe for
// concurrent use. The methods of a nil Late do nothing.
type Late struct {
	o *Options
	// table is where notes are kept; "": they are kept in memory alone.
	table string
	delay int64 // milliseconds: the least of the rules
	back  int64 // milliseconds: the greatest of the rules
	// filled is the end of what was filled, or is being filled, in milliseconds.
	filled atomic.Int64

	mu         sync.Mutex // guards the rest, and the order of notes in the table and in memory
	generation uint64
	notes      notes
	working    notes                   // that were taken, until their hours are filled anew
	owed       map[uint32]*kv.Mutation // notes in memory that could not be put into the table
}

// Bounds of what is noted: beyond mostSeries of a metric in an hour its other series count too, and beyond
// mostNotes all metrics of the hour.
const (
	mostSeries = 256
	mostNotes  = 1 << 16
)

// notes are hours, by their base times.
type notes struct {
	hours map[uint32]*lateHour
	count int
}

// A lateHour is what has changed in an hour.
type lateHour struct {
	all     bool
	metrics map[string]*lateMetric // by UID; nil if all
}

// A lateMetric is what has changed of a metric in an hour.
type lateMetric struct {
	all    bool
	series map[string]bool // TSUIDs; nil if all
}

// note notes a series, or a metric if tsuid is empty, or all if metric is empty too. It returns the column
// of the note, nil if nothing is new.
func (n *notes) note(base uint32, metric, tsuid string) []byte {
	h := n.hours[base]
	if h == nil {
		if n.hours == nil {
			n.hours = map[uint32]*lateHour{}
		}
		h = &lateHour{metrics: map[string]*lateMetric{}}
		n.hours[base] = h
		n.count++
	}
	switch {
	case h.all:
		return nil
	case metric == "" || n.count >= mostNotes:
		for _, m := range h.metrics {
			n.count -= 1 + len(m.series)
		}
		h.all, h.metrics = true, nil
		return own.FillLateQualifier("", "")
	}
	m := h.metrics[metric]
	if m == nil {
		m = &lateMetric{series: map[string]bool{}}
		h.metrics[metric] = m
		n.count++
	}
	switch {
	case m.all || m.series[tsuid]:
		return nil
	case tsuid == "" || len(m.series) >= mostSeries:
		n.count -= len(m.series)
		m.all, m.series = true, nil
		return own.FillLateQualifier(metric, "")
	}
	m.series[tsuid] = true
	n.count++
	return own.FillLateQualifier("", tsuid)
}

// each calls visit for each note.
func (n *notes) each(visit func(base uint32, metric, tsuid string)) {
	for base, h := range n.hours {
		if h.all {
			visit(base, "", "")
		}
		for metric, m := range h.metrics {
			if m.all {
				visit(base, metric, "")
			}
			for tsuid := range m.series {
				visit(base, metric, tsuid)
			}
		}
	}
}

// reach returns the times of points that count as late, in milliseconds; to is no longer one.
func (l *Late) reach() (from, to int64) {
	now := l.o.Now().UnixMilli()
	return now - l.back - daySeconds*1000, max(now-l.delay, l.filled.Load())
}

// Batch notes the late points of a batch. It must be called before they are there, so that a note is there
// whenever a point is, and again when they can be read: what was filled in between may lack them.
func (l *Late) Batch(ctx context.Context, b *storage.Batch) error {
	if l == nil {
		return nil
	}
	late := latePoints{l: l, base: -1}
	from, to := l.reach()
	for i, t := range b.Times {
		if t < to && t >= from {
			late.add(b.Refs[i], t)
		}
	}
	for i := range b.Objects {
		if o := &b.Objects[i]; o.Kind == storage.KindHistogram && o.Time < to && o.Time >= from {
			late.add(o.Ref, o.Time)
		}
	}
	return l.put(ctx, late.list, false)
}

// latePoints collects notes of late points.
type latePoints struct {
	l    *Late
	last storage.Ref
	base int64 // of the last one that was noted
	list []late
}

func (p *latePoints) add(ref storage.Ref, t int64) {
	if hour := int64(schema.Base(t)); hour != p.base || ref != p.last {
		p.base, p.last = hour, ref
		p.list = append(p.list, lateOf(p.l.o.TSUID(ref), p.l.o.Layout, uint32(hour)))
	}
	if t == p.base*1000 && p.base > 0 { // it ends a window of the hour before
		p.list = append(p.list, lateOf(p.l.o.TSUID(ref), p.l.o.Layout, uint32(p.base)-schema.RowSeconds))
	}
}

// A late is a note to be made.
type late struct {
	base          uint32
	metric, tsuid string
}

func lateOf(tsuid string, l schema.Layout, base uint32) late {
	return late{base, tsuid[:l.MetricWidth], tsuid}
}

// Deletion notes that points of series between two times are about to be deleted (milliseconds, inclusive).
// The note is durable when it returns.
func (l *Late) Deletion(ctx context.Context, tsuids []string, start, end int64) error {
	if l == nil {
		return nil
	}
	from, to := l.reach()
	if from, to = max(from, start, 0), min(to-1, end); from > to {
		return nil
	}
	first, last := schema.Base(max(from-1, 0)), schema.Base(to) // a point may end a window of the hour before
	what := l.condensed(tsuids)
	if int(last-first)/schema.RowSeconds*len(what) > mostNotes {
		what = []late{{}}
	}
	var list []late
	for base := first; base <= last; base += schema.RowSeconds {
		for _, one := range what {
			one.base = base
			list = append(list, one)
		}
	}
	return l.put(ctx, list, true)
}

// condensed returns notes of series, and of metrics that have many of them.
func (l *Late) condensed(tsuids []string) (list []late) {
	of := map[string]int{}
	for _, tsuid := range tsuids {
		of[tsuid[:l.o.Layout.MetricWidth]]++
	}
	for _, tsuid := range tsuids {
		if one := lateOf(tsuid, l.o.Layout, 0); of[one.metric] <= mostSeries {
			list = append(list, one)
		}
	}
	for metric, n := range of {
		if n > mostSeries {
			list = append(list, late{metric: metric})
		}
	}
	return list
}

// put notes in memory and in the table.
func (l *Late) put(ctx context.Context, list []late, durable bool) error {
	if len(list) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range list {
		q := l.notes.note(one.base, one.metric, one.tsuid)
		if q == nil || l.table == "" {
			continue
		}
		if l.owed == nil {
			l.owed = map[uint32]*kv.Mutation{}
		}
		if l.owed[one.base] == nil {
			l.owed[one.base] = &kv.Mutation{Key: own.FillLateKey(l.generation, one.base)}
		}
		m := l.owed[one.base]
		m.Puts = append(m.Puts, kv.Put{Qualifier: q, Value: []byte{1}})
	}
	if err := l.pay(ctx); err != nil {
		return err
	}
	if durable && l.table != "" {
		return l.o.DB.Flush(ctx)
	}
	return nil
}

// pay puts notes into the table that are only in memory. It needs mu.
func (l *Late) pay(ctx context.Context) error {
	if len(l.owed) == 0 {
		return nil
	}
	rows := make([]kv.Mutation, 0, len(l.owed))
	for _, m := range l.owed {
		rows = append(rows, *m)
	}
	if err := l.o.DB.Put(ctx, l.table, schema.FamilyData, rows); err != nil {
		return fmt.Errorf("note late points for the rollup tables in %s: %w", l.table, err)
	}
	l.owed = nil
	return nil
}

// taken is notes that are being worked on.
type taken struct {
	notes
	generation uint64
}

// noted returns what has changed in the hours from one time to another (seconds; to is no longer one) and is not
// filled anew yet.
func (l *Late) noted(from, to uint32) map[uint32]*lateHour {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[uint32]*lateHour{}
	for _, n := range []*notes{&l.notes, &l.working} {
		for base, h := range n.hours {
			if base+schema.RowSeconds <= from || base >= to {
				continue
			}
			if found[base] == nil {
				found[base] = &lateHour{metrics: map[string]*lateMetric{}}
			}
			found[base].add(h)
		}
	}
	return found
}

// take returns all notes. The caller must call done or restore.
func (l *Late) take() taken {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := taken{l.notes, l.generation}
	l.notes, l.working = notes{}, l.notes
	l.generation++
	return t
}

// restore takes notes back that were not worked on. They are still in the table.
func (l *Late) restore(t taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.each(func(base uint32, metric, tsuid string) { l.notes.note(base, metric, tsuid) })
	l.working = notes{}
}

// done deletes notes from the table.
func (l *Late) done(ctx context.Context, t taken) error {
	l.mu.Lock()
	l.working = notes{}
	l.mu.Unlock()
	if l.table == "" || len(t.hours) == 0 {
		return nil
	}
	const atOnce = 1024
	start, stop := own.FillLate(t.generation)
	var rows []kv.Mutation
	apply := func() error {
		err := l.o.DB.Put(ctx, l.table, schema.FamilyData, rows)
		rows = rows[:0]
		return err
	}
	for row, err := range l.o.DB.Scan(ctx, kv.Scan{Table: l.table, Family: schema.FamilyData, Start: start, Stop: stop, KeysOnly: true}) {
		if err != nil {
			return fmt.Errorf("delete the notes of late points in %s: %w", l.table, err)
		}
		if rows = append(rows, kv.Mutation{Key: row.Key, DeleteRow: true}); len(rows) == atOnce {
			if err := apply(); err != nil {
				return err
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return apply()
}

// load reads the notes of earlier processes.
func (l *Late) load(ctx context.Context) error {
	start, stop := own.FillLate(math.MaxUint64 - 1)
	var found taken
	for row, err := range l.o.DB.Scan(ctx, kv.Scan{Table: l.table, Family: schema.FamilyData, Start: start, Stop: stop}) {
		if err != nil {
			return fmt.Errorf("read the notes of late points in %s: %w", l.table, err)
		}
		generation, base, ok := own.ParseFillLateKey(row.Key)
		if !ok {
			continue
		}
		found.generation = generation
		for _, c := range row.Cells {
			if metric, tsuid, ok := own.ParseFillLateQualifier(c.Qualifier); ok {
				if tsuid != "" {
					metric = tsuid[:min(len(tsuid), l.o.Layout.MetricWidth)]
				}
				found.note(base, metric, tsuid)
			}
		}
	}
	l.restore(found)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation = max(l.generation, found.generation+1)
	return nil
}

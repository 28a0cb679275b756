package read

import (
	"context"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// newest is what a partReader needs for the newest samples.
type newest struct {
	since  []uint32 // of members: the base of the oldest row that may have a newer sample
	whole  []member // those of which all samples are read
	points head.Points
	row    storage.Points
}

// sinceWhole is in newest.since for a member of which all samples are read.
const sinceWhole = math.MaxUint32

// newestHours is the longest range, in hours, in which newest samples are looked for hour by hour.
const newestHours = 24

// newestAlone reports whether samples that are not the newest may be left out. On shared tables the
// age of a row may decide which sample of an instant counts.
func (r *selection) newestAlone() bool {
	floats := r.q.Samples && !r.q.Exemplars && !r.q.Integers
	return r.q.Newest && floats && r.o.DB.Local != nil && r.o.DB.Versioned == nil && r.hours() <= newestHours
}

// readNewest reads the newest sample of each member: what the head has first, as read does, then the
// rows of the table that may have newer ones, from the last hour on. Members with objects in the way
// are read whole.
func (w *partReader) readNewest(ctx context.Context, p plan) error {
	if err := w.claims.claim(len(w.members) * sampleBytes); err != nil {
		return err
	}
	w.newestInHead()
	for base := w.last; ; base -= schema.RowSeconds {
		if err := w.newestInHour(ctx, base); err != nil {
			return err
		}
		if base <= w.first {
			break
		}
	}
	if err := w.readWhole(ctx, p); err != nil {
		return err
	}
	return w.end()
}

// newestInHead finds the newest samples of the head, and sets since for each member.
func (w *partReader) newestInHead() {
	w.newest.since = w.newest.since[:0]
	rows := int64(0)
	defer func() {
		w.tally.Add(query.Head, query.Counts{Asked: rows, Rows: rows, Cells: rows, Bytes: rows * sampleBytes})
	}()
	for i := range w.members {
		p := w.points(i)
		time, value, found, objects := w.inHead(uint32(index.IDOf(p.Ref)))
		switch {
		case objects:
			w.newest.since = append(w.newest.since, sinceWhole)
		case found:
			rows++
			w.newest.since = append(w.newest.since, schema.Base(time))
			w.setNewest(p, time, value)
		default:
			w.newest.since = append(w.newest.since, w.first)
		}
	}
}

// inHead returns the newest sample that the head has of a series, unless there are objects.
func (w *partReader) inHead(id uint32) (time int64, value float64, found, objects bool) {
	if w.o.Head == nil {
		return 0, 0, false, false
	}
	if time, value, found = w.o.Head.Newest(id, w.q.Start, w.q.End); found {
		return time, value, true, false
	}
	h := &w.newest.points
	h.Reset()
	w.o.Head.Read(id, w.q.Start, w.q.End, h)
	if slices.ContainsFunc(h.Objects, func(o head.Object) bool { return w.q.Wants(o.Kind) }) {
		return 0, 0, false, true
	}
	if n := len(h.Times); n > 0 {
		return h.Times[n-1], h.Values[n-1], true, false
	}
	return 0, 0, false, false
}

// newestInHour looks for newer samples in the rows of an hour.
func (w *partReader) newestInHour(ctx context.Context, base uint32) error {
	w.request.forget()
	var prefix []byte
	for at := 0; at < len(w.members); {
		n := w.oneMetric(at)
		m := &w.members[at]
		prefix = w.o.Layout.AppendRangeKey(prefix[:0], m.bucket, []byte(m.tsuid[:w.o.Layout.MetricWidth]), base)
		for i := at; i < at+n; i++ {
			if base < w.newest.since[i] {
				continue
			}
			w.request.ask(i, base, prefix, w.members[i].tsuid[w.o.Layout.MetricWidth:])
			if len(w.request.keys) == rowsPerGet {
				if err := w.get(ctx, planNear, w.addNewest); err != nil {
					return err
				}
			}
		}
		at += n
	}
	return w.get(ctx, planNear, w.addNewest)
}

// addNewest takes the newest sample of a row, if the member has no newer one. The head's is newer at
// the same instant.
func (w *partReader) addNewest(member int, base uint32, cells []kv.StoredCell) error {
	row := &w.newest.row
	p := w.points(member)
	*row = storage.Points{Ref: p.Ref, Times: row.Times[:0], Values: row.Values[:0]}
	if err := w.decode(row, base, cells); err != nil {
		return err
	}
	n := len(row.Times)
	switch {
	case len(row.Objects) > 0:
		w.newest.since[member] = sinceWhole
	case n > 0:
		w.newest.since[member] = max(w.newest.since[member], base)
		if len(p.Times) == 0 || row.Times[n-1] > p.Times[0] {
			w.setNewest(p, row.Times[n-1], row.Values[n-1])
		}
	}
	return nil
}

// setNewest makes a sample the only one of a series.
func (w *partReader) setNewest(p *storage.Points, time int64, value float64) {
	if p.Times == nil {
		p.Times, p.Values = w.slots.take(1)
		w.samples++
	}
	p.Times, p.Values = append(p.Times[:0], time), append(p.Values[:0], value)
}

// readWhole reads all samples of those members of which one sample is not enough.
func (w *partReader) readWhole(ctx context.Context, p plan) error {
	w.newest.whole = w.newest.whole[:0]
	for i, since := range w.newest.since {
		if since == sinceWhole {
			points := w.points(i)
			w.samples -= points.Len()
			*points = storage.Points{Ref: points.Ref}
			w.newest.whole = append(w.newest.whole, w.members[i])
		}
	}
	if len(w.newest.whole) == 0 {
		return nil
	}
	w.members = w.newest.whole
	return w.readAll(ctx, p)
}

package job

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// lockPause is the time between two attempts to begin while points are being deleted.
const lockPause = 10 * time.Millisecond

// work is intervals of series to fill.
type work struct {
	interval *rollup.Interval
	series   []storage.Found
	from, to uint32 // seconds, of whole intervals; to is no longer one
	// erase deletes values of intervals that have no points.
	erase bool
}

// fill does work, some series at a time.
func (f *Filler) fill(ctx context.Context, w *work) error {
	for len(w.series) > 0 {
		begin := time.Now()
		from := f.firstKept(w)
		n := 1 // series whose points are kept for as long
		for n < len(w.series) && n < seriesAtOnce && f.firstKept(&work{interval: w.interval, series: w.series[n:], from: w.from}) == from {
			n++
		}
		if from < w.to {
			part := part{filler: f, work: work{interval: w.interval, series: w.series[:n], from: from, to: w.to, erase: w.erase}}
			if err := part.run(ctx); err != nil {
				return err
			}
			if !retry.Sleep(ctx, min(time.Since(begin), longest)) {
				return ctx.Err()
			}
		}
		w.series = w.series[n:]
	}
	return nil
}

// firstKept returns the first interval of the first series of which all points are kept for some hours yet. Of
// earlier ones points may be missing because they are old: their values stay as they are.
func (f *Filler) firstKept(w *work) uint32 {
	kept := f.o.Kept(w.series[0].Series)
	if kept == 0 {
		return w.from
	}
	const margin = 2 * schema.RowSeconds // an hour goes as a whole, and this takes a while
	first := before(f.o.Now(), kept, w.interval) + margin + uint32(w.interval.Seconds) - 1
	return max(w.from, floor(first, w.interval))
}

// A part is work that is done at once.
type part struct {
	filler   *Filler
	work     work
	contents []rollup.Contents
	held     int // intervals
}

func (p *part) run(ctx context.Context) error {
	f, w := p.filler, &p.work
	for !f.deleting.TryLock() { // a deletion may take long, and no other one shall wait for this
		if !retry.Sleep(ctx, lockPause) {
			return ctx.Err()
		}
	}
	defer f.deleting.Unlock()
	if err := f.o.Ready(); err != nil { // a deletion has failed, and is to be finished
		return err
	}
	q := storage.Query{Start: int64(w.from) * 1000, End: f.lastOf(w.to), Samples: true, Integers: true, Histograms: f.o.windows()}
	for _, s := range w.series {
		q.Refs = append(q.Refs, s.Ref)
	}
	next := 0 // of the series
	for points, err := range f.o.Select(ctx, q) {
		if err != nil {
			return err
		}
		for ; next < len(q.Refs) && q.Refs[next] != points.Ref; next++ {
			if err := p.add(ctx, q.Refs[next], nil); err != nil {
				return err
			}
		}
		next++
		if err := p.add(ctx, points.Ref, p.filled(&points)); err != nil {
			return err
		}
	}
	for ; next < len(q.Refs); next++ {
		if err := p.add(ctx, q.Refs[next], nil); err != nil {
			return err
		}
	}
	return p.put(ctx)
}

// filled returns the values of the intervals of a series, and their windows.
func (p *part) filled(points *storage.Points) []rollup.Filled {
	w := &p.work
	if !p.filler.o.windows() {
		return filled(points, w.interval)
	}
	made := windows(points, w.interval, int64(w.from)*1000, int64(w.to)*1000)
	if n := len(points.Times); n > 0 && points.Times[n-1] >= int64(w.to)*1000 { // of a window alone
		points.Times = points.Times[:n-1]
	}
	return withWindows(filled(points, w.interval), made)
}

// add adds the intervals of a series.
func (p *part) add(ctx context.Context, ref storage.Ref, values []rollup.Filled) error {
	if len(values) == 0 && !p.work.erase {
		return nil
	}
	p.contents = append(p.contents, rollup.Contents{TSUID: p.filler.o.TSUID(ref), From: p.work.from, To: p.work.to, Values: values})
	if p.held += len(values) + 1; p.held < contentsAtOnce {
		return nil
	}
	return p.put(ctx)
}

func (p *part) put(ctx context.Context) error {
	f := p.filler
	done, err := f.o.Rollups.Replace(ctx, &rollup.Replacement{
		Interval: p.work.interval, Aggregations: Aggregations(), Windows: f.o.windows(), Erase: p.work.erase, Contents: p.contents,
	})
	intervals := 0
	for i := range p.contents {
		intervals += len(p.contents[i].Values)
	}
	f.filled += intervals
	f.metrics.intervals.Add(float64(intervals))
	f.metrics.put.Add(float64(done.Put))
	f.metrics.deleted.Add(float64(done.Deleted))
	p.contents, p.held = p.contents[:0], 0
	return err
}

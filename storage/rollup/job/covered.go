package job

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// covered is what a task has filled.
type covered struct {
	rule     *Rule
	interval *rollup.Interval
	from, to uint32 // seconds; to is no longer in it
}

// coverage is what tasks have filled, for those who read it.
type coverage struct {
	covered atomic.Pointer[[]covered]
}

// publish tells readers what is filled. It needs mu.
func (f *Filler) publish() {
	if !f.o.windows() {
		return
	}
	var list []covered
	for _, t := range f.state.Tasks {
		rule, interval := f.o.ruleOf(t)
		list = append(list, covered{rule, interval, t.From, t.Done})
	}
	f.covered.Store(&list)
}

// leastCovered is how much of a query intervals must be filled for, so that reading them is worth it.
const leastCovered = 4 * schema.RowSeconds

// Covers returns the length of the windows that would answer a query, in milliseconds, whatever its series are; 0:
// they are no help.
func (f *Filler) Covers(q *storage.WindowQuery) int64 {
	if f == nil {
		return 0
	}
	if i := f.covering(q); i != nil {
		return int64(i.Seconds) * 1000
	}
	return 0
}

// covering returns the longest interval that windows of a query can be made of, of which at least half is filled
// by some rule; nil: there is none.
func (v *coverage) covering(q *storage.WindowQuery) (longest *rollup.Interval) {
	list := v.covered.Load()
	if list == nil {
		return nil
	}
	for _, c := range *list {
		length := int64(c.interval.Seconds) * 1000
		filled := min(q.End/1000, int64(c.to)) - max(q.Start/1000, int64(c.from))
		if q.Every%length == 0 && filled >= leastCovered && 2*filled >= (q.End-q.Start)/1000 &&
			(longest == nil || c.interval.Seconds > longest.Seconds) {
			longest = c.interval
		}
	}
	return longest
}

// Windows returns the windows of each series, ascending, as the points have them at some moment after the call. They are read where
// they are filled, and else made of points. ErrNoWindows is returned where that is no help, and for series with
// histograms.
func (f *Filler) Windows(ctx context.Context, q *storage.WindowQuery) ([][]storage.Window, error) {
	interval := f.covering(q)
	if interval == nil {
		return nil, storage.ErrNoWindows
	}
	r := windowReader{filler: f, q: q, interval: interval, windows: make([][]storage.Window, len(q.Refs))}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	for _, of := range r.windows {
		slices.SortFunc(of, func(a, b storage.Window) int { return cmp.Compare(a.Begin, b.Begin) })
		if slices.ContainsFunc(of, func(w storage.Window) bool { return w.Histograms }) {
			return nil, storage.ErrNoWindows
		}
	}
	return r.windows, nil
}

// A windowReader answers a WindowQuery.
type windowReader struct {
	filler   *Filler
	q        *storage.WindowQuery
	interval *rollup.Interval
	windows  [][]storage.Window
	dealt    []bool // which series are those of a rule
}

func (r *windowReader) read(ctx context.Context) error {
	if r.filler.o.Ready() != nil {
		return storage.ErrNoWindows
	}
	r.dealt = make([]bool, len(r.q.Refs))
	// What is filled is looked at first: points that come late afterwards are noted.
	for _, c := range *r.filler.covered.Load() {
		if c.interval != r.interval {
			continue
		}
		of, err := r.matching(ctx, c.rule)
		if err == nil {
			err = r.covered(ctx, &c, of)
		}
		if err != nil {
			return err
		}
	}
	var rest []int
	for i, dealt := range r.dealt {
		if !dealt {
			rest = append(rest, i)
		}
	}
	return r.points(ctx, rest, r.q.Start, r.q.End)
}

// matching returns which of the series that no earlier rule fills a rule does.
func (r *windowReader) matching(ctx context.Context, rule *Rule) (of []int, err error) {
	f, metrics := r.filler, map[string]map[storage.Ref]bool{} // by UID
	for i, ref := range r.q.Refs {
		if r.dealt[i] {
			continue
		}
		uid := f.o.TSUID(ref)[:f.o.Layout.MetricWidth]
		if metrics[uid] == nil {
			if metrics[uid], err = r.ofMetric(ctx, rule, uid); err != nil {
				return nil, err
			}
		}
		if metrics[uid][ref] {
			of = append(of, i)
			r.dealt[i] = true
		}
	}
	return of, nil
}

// ofMetric returns the series of a metric that a rule fills; none if some are not kept for ever, because old windows
// outlive their points.
func (r *windowReader) ofMetric(ctx context.Context, rule *Rule, uid string) (map[storage.Ref]bool, error) {
	name, err := r.filler.o.Name(ctx, uid)
	if err != nil || name == "" || !storage.MayHave(rule.Filters, name) {
		return map[storage.Ref]bool{}, err
	}
	found, err := r.filler.find(ctx, rule, []string{name}, 0, storage.MaxTime)
	if err != nil || slices.ContainsFunc(found, func(s storage.Found) bool { return r.filler.o.Kept(s.Series) > 0 }) {
		return map[storage.Ref]bool{}, err
	}
	refs := make(map[storage.Ref]bool, len(found))
	for _, s := range found {
		refs[s.Ref] = true
	}
	return refs, nil
}

// covered reads series of a rule.
func (r *windowReader) covered(ctx context.Context, c *covered, of []int) error {
	if len(of) == 0 {
		return nil
	}
	f := r.filler
	length := int64(c.interval.Seconds) * 1000
	from, to := max(r.q.Start, int64(c.from)*1000), min(r.q.End, int64(c.to)*1000)
	from, to = from+length-1-(from+length-1)%length, to-to%length
	if from >= to {
		return r.points(ctx, of, r.q.Start, r.q.End)
	}
	noted := f.late.noted(uint32(from/1000), uint32(to/1000))
	if err := r.cells(ctx, of, from, to, noted); err != nil {
		return err
	}
	if err := r.changed(ctx, of, from, to, noted); err != nil {
		return err
	}
	if err := r.points(ctx, of, r.q.Start, from); err != nil {
		return err
	}
	return r.points(ctx, of, to, r.q.End)
}

// cells reads what is filled, but for what has changed.
func (r *windowReader) cells(ctx context.Context, of []int, from, to int64, noted map[uint32]*lateHour) error {
	byMetric := map[string][]int{}
	for _, i := range of {
		metric := r.filler.o.TSUID(r.q.Refs[i])[:r.filler.o.Layout.MetricWidth]
		byMetric[metric] = append(byMetric[metric], i)
	}
	for _, of := range byMetric {
		tsuids := make([][]byte, len(of))
		for n, i := range of {
			tsuids[n] = []byte(r.filler.o.TSUID(r.q.Refs[i]))
		}
		windows, err := r.filler.o.Rollups.Windows(ctx, r.interval, tsuids, uint32(from/1000), uint32(to/1000))
		if err != nil {
			return err
		}
		for n, i := range of {
			w := windows[n]
			if len(noted) > 0 {
				tsuid := string(tsuids[n])
				w = slices.DeleteFunc(w, func(w storage.Window) bool { return r.hasChanged(w.Begin, tsuid, noted) })
			}
			r.windows[i] = append(r.windows[i], w...)
		}
	}
	return nil
}

// span is the length, in seconds, of what is filled anew when a point of an hour has changed.
func (r *windowReader) span() uint32 { return uint32(max(r.interval.Seconds, schema.RowSeconds)) }

// hasChanged reports whether points of a series in the span of an interval have changed.
func (r *windowReader) hasChanged(begin uint32, tsuid string, noted map[uint32]*lateHour) bool {
	first := begin - begin%r.span()
	for base := first; base < first+r.span(); base += schema.RowSeconds {
		if h := noted[base]; h != nil && h.has(tsuid, r.filler.o.Layout) {
			return true
		}
	}
	return false
}

// changed makes windows of points where these have changed.
func (r *windowReader) changed(ctx context.Context, of []int, from, to int64, noted map[uint32]*lateHour) error {
	const most = 256 // spans
	spans := map[uint32]bool{}
	for base := range noted {
		spans[base-base%r.span()] = true
	}
	if len(spans) > most {
		return storage.ErrNoWindows
	}
	for _, begin := range slices.Sorted(maps.Keys(spans)) {
		var some []int
		for _, i := range of {
			if r.hasChanged(begin, r.filler.o.TSUID(r.q.Refs[i]), noted) {
				some = append(some, i)
			}
		}
		if err := r.points(ctx, some, max(from, int64(begin)*1000), min(to, int64(begin+r.span())*1000)); err != nil {
			return err
		}
	}
	return nil
}

// points makes windows of points, of samples after one time and not after another.
func (r *windowReader) points(ctx context.Context, of []int, from, to int64) error {
	if len(of) == 0 || from >= to {
		return nil
	}
	q := storage.Query{Start: from + 1, End: to, Samples: true, Histograms: true}
	for _, i := range of {
		q.Refs = append(q.Refs, r.q.Refs[i])
	}
	next := 0
	for p, err := range r.filler.o.Select(ctx, q) {
		if err != nil {
			return err
		}
		for q.Refs[next] != p.Ref {
			next++
		}
		i := of[next]
		r.windows[i] = append(r.windows[i], windows(&p, r.interval, from, to)...)
	}
	return ctx.Err()
}

package tablecopy

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	hourMillis = int64(time.Hour / time.Millisecond)
	// rangeHours is the most that a range has.
	rangeHours = 64 * 24
	// rangesAtOnce bounds an answer of Ranges.
	rangesAtOnce = 256
	// givenBytes is about how large a block is.
	givenBytes = 4 << 20
)

// pointRanges returns the next ranges of points: the metrics by their names, and of each one the time, cut at multiples of the
// greatest length.
func (r *Reader) pointRanges(ctx context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	metrics, err := r.metrics(ctx, r.q.Start, r.q.End)
	if err != nil {
		return nil, err
	}
	return r.gather(metrics, after, func(metric string, from int64) (pipeline.Range, bool, error) {
		return r.nextHours(ctx, metric, from)
	})
}

// gather returns the ranges of metrics after one. next returns the one of a metric that begins at a time or later.
func (r *Reader) gather(metrics []string, after pipeline.Range, next func(metric string, from int64) (pipeline.Range, bool, error)) (ranges []pipeline.Range, err error) {
	at, found := slices.BinarySearch(metrics, after.Name)
	from := r.q.Start
	if found && after.Name != "" {
		from = after.To + 1
	}
	for ; at < len(metrics); at, from = at+1, r.q.Start {
		for from <= r.q.End {
			if len(ranges) == rangesAtOnce {
				return ranges, nil
			}
			one, ok, err := next(metrics[at], from)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			one.Nth, one.Of = at, len(metrics)
			ranges = append(ranges, one)
			from = one.To + 1
		}
	}
	return ranges, nil
}

// nextHours returns the next range of a metric. It begins where the one before ends: the memory of this process may have points
// where the tables have none.
func (r *Reader) nextHours(ctx context.Context, metric string, from int64) (one pipeline.Range, ok bool, err error) {
	hour, ok, err := r.s.Store.Catalog().NextHour(ctx, metric, from)
	one = pipeline.Range{Part: PartPoints, Name: metric, From: from, To: r.q.End}
	switch {
	case err != nil || !ok:
		return one, r.s.Shared && err == nil, err
	case hour > r.q.End:
		return one, r.s.Shared, nil
	}
	const length = rangeHours * hourMillis
	one.To = min(one.To, hour/length*length+length-1)
	return one, true, nil
}

// readPoints gives the points of a range, window by window.
func (r *Reader) readPoints(ctx context.Context, about pipeline.Range, give func(*Block) error) error {
	about.From, about.To = max(about.From, r.q.Start), min(about.To, r.q.End)
	for length := hourMillis; about.From <= about.To; {
		hour, ok, err := r.s.Store.Catalog().NextHour(ctx, about.Name, about.From)
		if err != nil {
			return err
		}
		end := about.To
		if ok {
			end = min(end, max(about.From, hour)/hourMillis*hourMillis+length-1)
		}
		w := &window{Reader: r, metric: about.Name, from: about.From, to: end, give: give}
		if err := w.run(ctx); err != nil {
			return err
		}
		if err := give(&Block{Rest: nextRange(about, end+1)}); err != nil {
			return err
		}
		switch {
		case w.points > r.windowPoints:
			length = max(length/2/hourMillis*hourMillis, hourMillis)
		case w.points < r.windowPoints/4:
			length = min(length*4, rangeHours*hourMillis)
		}
		about.From = end + 1
	}
	return nil
}

// A window is some of the time of a range.
type window struct {
	*Reader
	metric   string
	from, to int64
	give     func(*Block) error
	points   int64 // that were given
}

// A pointSeries is a series of a window.
type pointSeries struct {
	ref   storage.Ref
	tsuid []byte
	name  storage.Series
}

// series returns the series of the window, in the order of their TSUIDs.
func (w *window) series(ctx context.Context) (list []pointSeries, err error) {
	conditions := [][]storage.Filter{{{Values: []string{w.metric}}}}
	if !w.all() {
		conditions = nil
		for _, m := range w.q.Matches {
			if c, ok := m.Of(w.metric); ok {
				conditions = append(conditions, c)
			}
		}
	}
	for _, c := range conditions {
		found, err := w.find(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			list = append(list, pointSeries{ref: f.Ref, tsuid: w.s.Store.Catalog().TSUIDOf(f.Ref), name: f.Series})
		}
	}
	slices.SortFunc(list, func(a, b pointSeries) int { return bytes.Compare(a.tsuid, b.tsuid) })
	return slices.CompactFunc(list, func(a, b pointSeries) bool { return a.ref == b.ref }), nil
}

// find returns the series that satisfy conditions. If all are copied, one without a name is among the losses of the
// series; else it may be one that is wanted.
func (w *window) find(ctx context.Context, conditions []storage.Filter) ([]storage.Found, error) {
	if w.all() {
		return w.s.Store.Catalog().FindNamed(ctx, conditions, w.from, w.to)
	}
	return w.s.Store.Find(ctx, conditions, w.from, w.to, 0)
}

// run gives the points of the window.
func (w *window) run(ctx context.Context) error {
	account := w.s.Budget.Open()
	defer account.Close()
	ctx = query.WithAccount(ctx, account)
	list, err := w.series(ctx)
	if err != nil {
		return err
	}
	return w.read(ctx, list, w.from, w.to)
}

// read gives the points of series from one time to another. Where there are too many, or some cannot be read, it goes on with the
// series of which none is given yet, in shorter times if that is all of them.
func (w *window) read(ctx context.Context, list []pointSeries, from, to int64) error {
	for len(list) > 0 {
		pass := &pass{window: w, list: list, from: from, to: to}
		q := storage.Query{Start: from, End: to, Samples: true, Integers: true, Exemplars: true, Histograms: true, Annotations: true}
		hour := to/hourMillis == from/hourMillis
		if !hour {
			q.MaxSamples = w.mostPoints
		}
		for _, s := range list {
			q.Refs = append(q.Refs, s.ref)
		}
		err := w.s.Store.SelectParts(ctx, q, func() storage.PartWorker { return &worker{pass: pass} })
		lost := Unreadable(err)
		if err == nil || ctx.Err() != nil || !lost && (hour || !errors.Is(err, storage.ErrLimit) && !errors.Is(err, query.ErrTooLarge)) {
			return err
		}
		if list = list[pass.done:]; pass.done > 0 {
			continue
		}
		if lost {
			if err := w.readAround(ctx, list, from, to, err); err != nil {
				return err
			}
			return nil
		}
		middle := middleHour(from, to)
		if err := w.read(ctx, list, from, middle-1); err != nil {
			return err
		}
		from = middle
	}
	return nil
}

// middleHour returns the begin of an hour in the middle of a time of several hours.
func middleHour(from, to int64) int64 {
	middle := (from + (to-from)/2) / hourMillis * hourMillis
	if middle <= from {
		middle = (from/hourMillis + 1) * hourMillis
	}
	return middle
}

// readAround gives what can be read of series of which something cannot: of half of the series, then of half of the time.
func (w *window) readAround(ctx context.Context, list []pointSeries, from, to int64, reason error) error {
	switch {
	case len(list) > 1:
		middle := len(list) / 2
		if err := w.read(ctx, list[:middle], from, to); err != nil {
			return err
		}
		return w.read(ctx, list[middle:], from, to)
	case to/hourMillis > from/hourMillis:
		middle := middleHour(from, to)
		if err := w.read(ctx, list, from, middle-1); err != nil {
			return err
		}
		return w.read(ctx, list, middle, to)
	}
	what := list[0].name.String() + " at " + time.UnixMilli(from/hourMillis*hourMillis).UTC().Format(time.RFC3339)
	return w.give(&Block{Lost: []Loss{{What: what, Reason: reason.Error()}}})
}

// Unreadable reports whether an error is of something that cannot be read, now or later, while other things can be.
func Unreadable(err error) bool {
	if err == nil {
		return false
	}
	_, row := errors.AsType[storage.RowError](err)
	return row || errors.Is(err, storage.ErrDamaged)
}

// A pass reads series.
type pass struct {
	*window
	list     []pointSeries
	from, to int64
	done     int // of the series, that were given
}

// A worker is one core's.
type worker struct {
	*pass
	part storage.Part
}

// Take implements storage.PartWorker.
func (w *worker) Take(ctx context.Context, p storage.Part) error {
	w.part = p
	return ctx.Err()
}

// Commit implements storage.PartWorker.
func (w *worker) Commit(ctx context.Context) error {
	var b Block
	size := 0
	for i := range w.part.Points {
		s := w.seriesOf(i)
		if s.Len() == 0 {
			continue
		}
		for _, one := range cut(s) {
			b.Series = append(b.Series, one)
			if size += sizeOf(&one); size >= givenBytes {
				if err := w.flush(&b); err != nil {
					return err
				}
				b, size = Block{}, 0
			}
		}
	}
	if err := w.flush(&b); err != nil {
		return err
	}
	w.done = w.part.From + len(w.part.Points)
	return ctx.Err()
}

func (w *worker) flush(b *Block) error {
	if b.empty() {
		return nil
	}
	w.points += b.Points()
	return w.give(b)
}

// seriesOf returns what the part has of a series.
func (w *worker) seriesOf(i int) Series {
	p := &w.part.Points[i]
	s := Series{Name: w.list[w.part.From+i].name, Times: p.Times, Values: p.Values, Integers: p.Integers, Objects: p.Objects}
	for _, document := range p.Annotations {
		note, err := schema.ParseAnnotation(document)
		if at := schema.MillisOf(note.Start); err != nil || at < w.from || at > w.to {
			continue // no reader sees it, or it is of another window
		}
		s.Notes = append(s.Notes, document)
	}
	return s
}

// sizeOf is about how large a series is in a block.
func sizeOf(s *Series) int {
	n := 32 + len(s.Name.Metric) + 10*len(s.Times) + 6*len(s.Integers) + 24*len(s.Rolled) + len(s.Document)
	for _, tag := range s.Name.Tags {
		n += len(tag.Key) + len(tag.Value) + 2
	}
	for i := range s.Objects {
		n += 8 + len(s.Objects[i].Data)
	}
	for _, note := range s.Notes {
		n += len(note)
	}
	for i := range s.Slots {
		n += 10 * len(s.Slots[i].Times)
	}
	return n
}

// cutPoints is how many points or objects of a series a block has.
const cutPoints = 100_000

// cut returns a series in pieces that are small enough for a block.
func cut(s Series) []Series {
	if len(s.Times) <= cutPoints && sizeOf(&s) <= givenBytes {
		return []Series{s}
	}
	var pieces []Series
	for len(s.Times) > 0 {
		n := min(len(s.Times), cutPoints)
		piece := Series{Name: s.Name, Times: s.Times[:n], Values: s.Values[:n]}
		after, _ := slices.BinarySearchFunc(s.Integers, s.Times[n-1]+1, func(i storage.Integer, t int64) int { return int(min(max(i.Time-t, -1), 1)) })
		piece.Integers, s.Integers = s.Integers[:after], s.Integers[after:]
		pieces = append(pieces, piece)
		s.Times, s.Values = s.Times[n:], s.Values[n:]
	}
	for len(s.Objects) > 0 {
		n, size := 0, 0
		for n < len(s.Objects) && (n == 0 || size+len(s.Objects[n].Data) < givenBytes) {
			size += 8 + len(s.Objects[n].Data)
			n++
		}
		pieces = append(pieces, Series{Name: s.Name, Objects: s.Objects[:n]})
		s.Objects = s.Objects[n:]
	}
	for len(s.Notes) > 0 {
		n, size := 0, 0
		for n < len(s.Notes) && (n == 0 || size+len(s.Notes[n]) < givenBytes) {
			size += len(s.Notes[n])
			n++
		}
		pieces = append(pieces, Series{Name: s.Name, Notes: s.Notes[:n]})
		s.Notes = s.Notes[n:]
	}
	return pieces
}

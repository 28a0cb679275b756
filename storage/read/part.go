package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// rowsPerGet bounds the rows that are asked for by key at once.
const rowsPerGet = 1024

// partReader reads parts of groups; it keeps the points' memory until its group is read anew.
type partReader struct {
	*selection
	group   *seriesGroup
	members []member
	decoder decoder
	slots   slots
	head    head.Snapshot
	taken   []head.Taken // of members, if the store has a head
	newest  newest
	own     []member        // members of a part of a sweep
	held    []heldRow       // of a member
	cells   []kv.StoredCell // of a row that a sweep has
	samples int             // of this part
	claims  claims

	request request
}

// A request is the keys of rows that are read together.
type request struct {
	asked []asked // what the keys are of
	keys  [][]byte
	arena []byte // of keys
}

type asked struct {
	member int32
	base   uint32
}

// read reads the series of a part: what the head has of them first, because a row that is put and
// dropped in between would be in neither otherwise.
func (w *partReader) read(ctx context.Context, r *selection, g *seriesGroup, p groupPart) error {
	w.begin(r, g)
	w.members = p.members
	ctx, span := tracing.Start(ctx, "read rows")
	err := w.readPart(ctx, p.plan)
	if span.On() {
		span.Text("plan", p.kind.String())
		span.Number("series", int64(len(p.members)))
		span.Number("samples", int64(w.samples))
	}
	span.End(err)
	return err
}

func (w *partReader) readPart(ctx context.Context, p plan) error {
	if w.newestAlone() {
		return w.readNewest(ctx, p)
	}
	if err := w.readAll(ctx, p); err != nil {
		return err
	}
	return w.end()
}

// readAll reads all points of the members.
func (w *partReader) readAll(ctx context.Context, p plan) error {
	if err := w.takeHead(); err != nil {
		return err
	}
	read := w.readRows
	if p.kind.scans() {
		read = w.scan
	}
	if err := read(ctx, p); err != nil {
		return err
	}
	for i, t := range w.taken {
		if !t.Empty() {
			if err := w.joinHead(ctx, w.points(i), t, &w.head); err != nil {
				return err
			}
		}
	}
	return nil
}

// end counts the samples of the part.
func (w *partReader) end() error {
	if w.group.samples.Add(int64(w.samples)); w.over(int(w.group.samples.Load())) {
		return w.tooMany()
	}
	return nil
}

// begin prepares the reader for another part.
func (w *partReader) begin(r *selection, g *seriesGroup) {
	w.selection, w.group, w.samples = r, g, 0
	w.claims = claims{charge: &g.charge}
	w.decoder.q, w.decoder.table = r.q, r.o.Table
	w.taken = w.taken[:0]
	w.slots.reset()
}

// readSwept decodes the rows of a part that a sweep has, and joins what the head had before. The
// group begins with series from of the query.
func (w *partReader) readSwept(ctx context.Context, s *sweep, g *seriesGroup, p groupPart, from int) error {
	w.begin(s.selection, g)
	w.own = slices.Grow(w.own[:0], p.end-p.from)[:0]
	for i := p.from; i < p.end; i++ {
		w.own = append(w.own, member{at: i - from})
		shelf := s.shelves[(i-s.from)/s.perShelf]
		if len(shelf.taken) > 0 {
			w.taken = append(w.taken, shelf.taken[(i-s.from)%s.perShelf])
		}
	}
	w.members = w.own
	for i := range w.members {
		if err := w.addHeld(ctx, s, i, p.from+i-s.from); err != nil {
			return err
		}
	}
	return w.end()
}

// addHeld decodes the rows of a member, which is the at-th series of the sweep.
func (w *partReader) addHeld(ctx context.Context, s *sweep, member, at int) error {
	owner := int(s.owners[at])
	shelf := s.shelves[owner/s.perShelf]
	w.held = shelf.rowsOf(owner%s.perShelf, w.held[:0])
	for _, row := range w.held {
		var err error
		if w.cells, err = parsePacked(w.cells[:0], shelf.cells(row)); err != nil {
			return err
		}
		if err := w.add(member, row.base, w.cells); err != nil {
			return err
		}
	}
	if len(w.taken) == 0 || w.taken[member].Empty() {
		return nil
	}
	shelf = s.shelves[at/s.perShelf]
	shelf.mu.Lock() // a snapshot is read by one goroutine at a time
	defer shelf.mu.Unlock()
	return w.joinHead(ctx, w.points(member), w.taken[member], &shelf.head)
}

func (w *partReader) points(member int) *storage.Points { return &w.group.points[w.members[member].at] }

func (w *partReader) over(samples int) bool { return w.q.MaxSamples > 0 && samples > w.q.MaxSamples }

// readRows asks for every row of the series by its key, in the order of the keys.
func (w *partReader) readRows(ctx context.Context, p plan) error {
	s := w.Reader
	w.request.forget()
	for at := 0; at < len(w.members); {
		n := w.oneMetric(at)
		metric := []byte(w.members[at].tsuid[:s.o.Layout.MetricWidth])
		for base := w.first; ; base += schema.RowSeconds {
			prefix := s.o.Layout.AppendRangeKey(nil, w.members[at].bucket, metric, base)
			for i := at; i < at+n; i++ {
				w.request.ask(i, base, prefix, w.members[i].tsuid[w.o.Layout.MetricWidth:])
				if len(w.request.keys) == rowsPerGet {
					if err := w.get(ctx, p.kind, w.add); err != nil {
						return err
					}
				}
			}
			if base >= w.last {
				break
			}
		}
		at += n
	}
	return w.get(ctx, p.kind, w.add)
}

// oneMetric is how many members from one on are of its metric and bucket.
func (w *partReader) oneMetric(at int) int {
	width := w.o.Layout.MetricWidth
	n := 1
	for at+n < len(w.members) && w.members[at+n].bucket == w.members[at].bucket && w.members[at+n].tsuid[:width] == w.members[at].tsuid[:width] {
		n++
	}
	return n
}

func (r *request) ask(member int, base uint32, prefix []byte, tags string) {
	at := len(r.arena) // keys that lie in what the arena was before it grew stay there
	r.arena = append(append(r.arena, prefix...), tags...)
	r.keys = append(r.keys, r.arena[at:len(r.arena):len(r.arena)])
	r.asked = append(r.asked, asked{int32(member), base})
}

func (r *request) forget() { r.asked, r.keys, r.arena = r.asked[:0], r.keys[:0], r.arena[:0] }

// get reads the rows that were asked for, and adds each to its member.
func (w *partReader) get(ctx context.Context, kind planKind, add func(member int, base uint32, cells []kv.StoredCell) error) error {
	if len(w.request.keys) == 0 {
		return nil
	}
	defer w.request.forget()
	s := w.Reader
	var inRow error
	var seen seenRows
	err := s.o.DB.Rows.GetStored(ctx, s.o.Table, schema.FamilyData, w.request.keys, kind == planNear, func(i int, cells []kv.StoredCell) error {
		seen.add(cells)
		a := w.request.asked[i]
		inRow = add(int(a.member), a.base, cells)
		return inRow
	})
	switch {
	case inRow != nil:
		return inRow
	case err != nil:
		return fmt.Errorf("read %d rows: %w", len(w.request.keys), err)
	}
	s.metrics.selectRows[kind].Add(float64(len(w.request.keys)))
	w.count(kind, int64(len(w.request.keys)), seen)
	return nil
}

// scan reads the rows of series of one metric and bucket in one pass over the metric's.
func (w *partReader) scan(ctx context.Context, p plan) error {
	s := w.Reader
	metric := w.members[0].tsuid[:s.o.Layout.MetricWidth]
	scan := row.ScanMetric(s.o.Layout, s.o.Table, w.members[0].bucket, metric, w.first, w.last)
	scan.Match = w.match(p)
	var inRow error
	var seen seenRows
	at := 0
	defer func() {
		s.metrics.selectRows[p.kind].Add(float64(seen.Rows))
		w.count(p.kind, seen.Rows, seen)
	}()
	err := s.o.DB.Rows.ScanStored(ctx, scan, func(rowKey []byte, cells []kv.StoredCell) error {
		seen.add(cells)
		var key schema.RowKey
		if key, inRow = s.o.Layout.ParseRowKey(rowKey); inRow != nil {
			inRow = w.unreadable(rowKey, inRow)
			return inRow
		}
		var found bool
		if at, found = w.find(key.Tags, at); found {
			inRow = w.add(at, key.Base, cells)
		}
		return inRow
	})
	switch {
	case inRow != nil:
		return inRow
	case err != nil:
		return fmt.Errorf("scan the rows of metric %x: %w", metric, err)
	}
	return nil
}

// match is what the engine is told of the wanted rows. Of a plain range it is told nothing where it
// would leap, which is dearer then.
func (w *partReader) match(p plan) *kv.Match {
	s := w.Reader
	if s.o.DB.Local == nil && p.kind == planRange && len(w.members) <= s.o.DB.Costs.Leaps {
		return nil
	}
	m := &kv.Match{Prefix: s.o.Layout.PrefixWidth(), Key: s.o.Layout.TagkWidth, Value: s.o.Layout.TagvWidth, Tags: p.tags}
	if p.kind != planRegexp {
		m.Tags = nil
	}
	for i := range w.members {
		m.Suffixes = append(m.Suffixes, []byte(w.members[i].tsuid[s.o.Layout.MetricWidth:]))
	}
	return m
}

// find looks for the member with the tags, which mostly is the one after the last.
func (w *partReader) find(tags []byte, last int) (at int, found bool) {
	width := w.o.Layout.MetricWidth
	if next := last + 1; next < len(w.members) && w.members[next].tsuid[width:] == string(tags) {
		return next, true
	}
	return slices.BinarySearchFunc(w.members, string(tags), func(m member, tags string) int { return strings.Compare(m.tsuid[width:], tags) })
}

// add decodes a row of a member.
func (w *partReader) add(member int, base uint32, cells []kv.StoredCell) error {
	p := w.points(member)
	before, objects, notes := p.Len(), len(p.Objects), len(p.Annotations)
	reserved := 0
	if w.q.Samples && (p.Times == nil || cap(p.Times)-len(p.Times) < countPoints(cells)) {
		var err error
		if reserved, err = w.reserve(p, member, base, cells); err != nil {
			return err
		}
	}
	if err := w.decode(p, base, cells); err != nil {
		return err
	}
	if reserved > 0 && base == w.last && (len(w.taken) == 0 || w.taken[member].Empty()) {
		w.slots.giveBack(reserved - len(p.Times)) // nothing will follow
	}
	if w.samples += p.Len() - before; w.over(w.samples) {
		return w.tooMany()
	}
	if err := w.claims.claimAnnotations(p.Annotations[notes:]); err != nil {
		return err
	}
	if len(p.Objects) > objects {
		return w.claims.claimObjects(p.Objects[objects:])
	}
	return nil
}

// decode adds what a row holds to the points of its series.
func (w *partReader) decode(p *storage.Points, base uint32, cells []kv.StoredCell) error {
	if err := w.decoder.add(p, base, cells); err != nil {
		return w.unreadable(w.o.Layout.AppendRowKey(nil, []byte(w.o.Index.TSUID(index.IDOf(p.Ref))), base), err)
	}
	return nil
}

// unreadable returns the error of a row, and tells of it.
func (w *partReader) unreadable(key []byte, why error) error {
	err := schema.RowFault(w.o.Layout, w.decoder.table, key, why)
	if w.o.Unreadable != nil {
		w.o.Unreadable(err)
	}
	return storage.RowError{Err: err}
}

// reserve gives a series memory for the row at hand, as much as a whole row for each that follows, and
// what the head has. Points that it has already move there.
func (w *partReader) reserve(p *storage.Points, member int, base uint32, cells []kv.StoredCell) (int, error) {
	const (
		ahead = 48      // hours; longer ranges have gaps
		most  = 1 << 20 // points; what else comes makes room for itself
	)
	hours := min(int(w.last-base)/schema.RowSeconds+1, ahead)
	n, full := countPoints(cells), 0
	for _, c := range cells {
		full += columns.FullCount(c.Coded)
	}
	n = max(n, min(max(n, full)*hours, most)) + len(p.Times)
	if len(w.taken) > 0 {
		n += w.taken[member].Points()
	}
	if err := w.claims.claim(n * w.perSample()); err != nil {
		return 0, err
	}
	times, values := w.slots.take(n)
	p.Times, p.Values = append(times, p.Times...), append(values, p.Values...)
	return n, nil
}

// takeHead copies what the head has of the part's series.
func (w *partReader) takeHead() error {
	w.taken = w.taken[:0]
	if w.o.Head == nil {
		return nil
	}
	w.head.Reset()
	taken := 0
	for _, m := range w.members {
		ref := w.group.points[m.at].Ref
		w.taken = append(w.taken, w.o.Head.Take(uint32(index.IDOf(ref)), w.q.Start, w.q.End, &w.head))
		if err := w.claims.claim(w.head.Size() - taken); err != nil {
			return err
		}
		taken = w.head.Size()
	}
	w.countHead(w.taken, w.head.Size())
	return nil
}

// joinHead adds what was taken of the head, into a snapshot, to the rows of a series.
func (w *partReader) joinHead(ctx context.Context, p *storage.Points, t head.Taken, from *head.Snapshot) error {
	before, n := p.Len(), len(p.Times)
	if err := w.claims.claim((t.Points() + n) * w.perSample()); err != nil {
		return err
	}
	if p.Times == nil {
		p.Times, p.Values = w.slots.take(t.Points())
	}
	h := head.Points{Times: p.Times, Values: p.Values, WithIntegers: w.q.Integers}
	from.Read(t, w.q.Start, w.q.End, &h)
	if w.o.DB.Versioned != nil {
		if err := w.dropOlder(ctx, p, &h, n); err != nil {
			return err
		}
	}
	join(p, &h, n, &w.q)
	w.samples += p.Len() - before
	return w.claims.claimObjects(p.Objects)
}

// countPoints is how many points some cells have at most.
func countPoints(cells []kv.StoredCell) int {
	n := 0
	for _, c := range cells {
		if c.Coded != nil {
			n += columns.Count(c.Coded)
		} else {
			n += columns.DataCount(c.Qualifier)
		}
	}
	return n
}

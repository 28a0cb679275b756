package write

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// put returns when the table has a batch, which must be valid.
func (t *Table) put(ctx context.Context, b *storage.Batch) error {
	w := t.appends.Get().(*tableAppend)
	defer t.appends.Put(w)
	w.reset(t)
	w.load(b)
	w.lock()
	defer w.held.unlock()
	w.groupRows()
	if err := w.build(ctx); err != nil {
		return err
	}
	w.sortPuts()
	if err := w.put(ctx, t.db.Apply); err != nil {
		return err
	}
	if t.db.Versioned != nil {
		t.verifier.note(w)
	}
	return nil
}

// tableAppend is one append: the scratch memory of its steps.
type tableAppend struct {
	table   *Table
	batch   *storage.Batch
	entries []entry
	held    locks
	rows    []rowWrite
	points  []schema.Point
	objects []own.Object
	content row.Row
	keys    []byte // the row keys, one after the other
	puts    []kv.Mutation
	changes []changedRow  // in place of puts: made only while their rows are as they were read
	coded   []kv.CodedRow // of a flush: rows that are put in addition to puts

	decoder columns.Decoder

	reconciler row.Reconciler // of shared tables
	flush      bool           // the rows were acknowledged before: their ages tell when
}

// entry is one point (n < len(batch.Refs)) or object of the batch.
type entry struct {
	ref   storage.Ref
	time  int64
	n     int32
	order int32 // in which they were added: points are odd, objects lie even between them
}

// rowWrite is what the batch holds for one row.
type rowWrite struct {
	ref     storage.Ref
	state   *state
	base    uint32
	points  []schema.Point
	objects []own.Object
	// in place of points and objects: the row as the engine keeps it, and the offsets of the points
	// at its ends
	coded       []byte
	first, last uint32
	// when the samples were acknowledged, on shared tables, if that is over
	ages                   []own.Age
	key                    []byte
	put                    []kv.Put // what a shared table was given of it
	lastSample, lastObject int32    // after the write
}

func (w *tableAppend) reset(s *Table) {
	clear(w.rows)
	clear(w.puts)
	clear(w.coded)
	clear(w.changes)
	*w = tableAppend{
		table: s, entries: w.entries[:0], held: locks{w.held.locked[:0]}, rows: w.rows[:0], points: w.points[:0],
		objects: w.objects[:0], keys: w.keys[:0], puts: w.puts[:0], coded: w.coded[:0], content: w.content, decoder: w.decoder, reconciler: w.reconciler,
		changes: w.changes[:0],
	}
	w.reconciler.Appends = s.appended
}

// load sorts the batch by series and time; of equal times the last in the batch comes last.
func (w *tableAppend) load(b *storage.Batch) {
	w.batch = b
	for i, ref := range b.Refs {
		w.entries = append(w.entries, entry{ref, b.Times[i], int32(i), int32(2*i + 1)})
	}
	for i := range b.Objects {
		w.entries = append(w.entries, entry{b.Objects[i].Ref, b.Objects[i].Time, int32(len(b.Refs) + i), int32(2 * b.Objects[i].After())})
	}
	slices.SortFunc(w.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.ref, b.ref), cmp.Compare(a.time, b.time), cmp.Compare(a.order, b.order), cmp.Compare(a.n, b.n))
	})
}

// lock takes the states of all series of the batch, in the order of their refs so that two appends
// cannot wait for each other.
func (w *tableAppend) lock() {
	last := storage.Ref(0)
	for _, e := range w.entries {
		if e.ref != last {
			st := w.table.states.Of(index.IDOf(e.ref))
			w.held.lock(st)
			last = e.ref
		}
	}
}

func (l *locks) lock(st *state) {
	st.mu.Lock()
	l.locked = append(l.locked, st)
}

func (l *locks) unlock() {
	for _, st := range l.locked {
		st.mu.Unlock()
	}
	l.locked = l.locked[:0]
}

// groupRows cuts the sorted entries into rows.
func (w *tableAppend) groupRows() {
	w.points = slices.Grow(w.points, len(w.batch.Refs))
	w.objects = slices.Grow(w.objects, len(w.entries))
	series := -1
	for i := 0; i < len(w.entries); {
		first := w.entries[i]
		base := schema.Base(first.time)
		j := i + 1
		for j < len(w.entries) && w.entries[j].ref == first.ref && schema.Base(w.entries[j].time) == base {
			j++
		}
		if i == 0 || w.entries[i-1].ref != first.ref {
			series++
		}
		w.addRow(first.ref, w.held.locked[series], base, w.entries[i:j])
		i = j
	}
}

// addRow turns the entries of one row into points and objects, one sample per instant.
func (w *tableAppend) addRow(ref storage.Ref, st *state, base uint32, entries []entry) {
	firstPoint, firstObject := len(w.points), len(w.objects)
	for i, e := range entries {
		offset := schema.Offset(e.time)
		if n := int(e.n); n < len(w.batch.Refs) {
			if !w.superseded(entries[i+1:], e.time, row.Number) {
				w.addPoint(offset, n)
			}
			continue
		}
		o := &w.batch.Objects[int(e.n)-len(w.batch.Refs)]
		n := own.Object{Offset: offset, Kind: o.Kind, Data: o.Data}
		if n.Kind == storage.KindExemplar || !w.superseded(entries[i+1:], e.time, n.Kind) {
			w.objects = append(w.objects, n)
		}
	}
	objects := w.objects[firstObject:]
	slices.SortFunc(objects, row.CompareObjects)
	w.objects = w.objects[:firstObject+len(slices.CompactFunc(objects, func(a, b own.Object) bool { return row.CompareObjects(a, b) == 0 }))]
	w.rows = append(w.rows, rowWrite{ref: ref, state: st, base: base, points: w.points[firstPoint:], objects: w.objects[firstObject:]})
}

func (w *tableAppend) addPoint(offset uint32, n int) {
	value, form := w.batch.Values[n], storage.FormFloat
	if w.batch.Forms != nil {
		form = w.batch.Forms[n]
	}
	if w.table.db.Versioned == nil {
		form = form.Kind() // no other process corrects the point
	}
	if p, ok := schema.ValuePoint(offset, value, form, w.table.values); ok {
		w.points = append(w.points, p)
		return
	}
	w.objects = append(w.objects, own.FloatObject(offset, value))
}

// superseded reports whether a later entry of the batch stands in place of a datum of a kind at
// this time. A start time belongs to the sample that the batch has at its instant, wherever in the
// batch that is.
func (w *tableAppend) superseded(later []entry, time int64, kind storage.Kind) bool {
	for _, e := range later {
		if e.time != time {
			return false
		}
		if row.Replaces(kindOf(w.batch, e), kind) {
			return true
		}
	}
	return false
}

func kindOf(b *storage.Batch, e entry) storage.Kind {
	if n := int(e.n) - len(b.Refs); n >= 0 {
		return b.Objects[n].Kind
	}
	return row.Number // or a float that is an object: both are the sample
}

const (
	// rowsPerRead bounds the rows that are read and merged at a time, and concurrentReads how many
	// appends do so at once: rows of an hour of single cells take some 30 KB each.
	rowsPerRead     = 1024
	concurrentReads = 8
	// manyCells is the number of cells beyond which a row of a local engine is put together when it
	// is read anyway.
	manyCells = 64
)

// build makes the row mutations, reading first the rows that must be read before they are written.
func (w *tableAppend) build(ctx context.Context) error {
	w.makeKeys()
	var unsure []*rowWrite
	var previous *state
	for i := range w.rows {
		r := &w.rows[i]
		r.lastSample, r.lastObject = lastOffsets(r)
		if w.mustRead(r) || r.state == previous && !r.state.begins(r) || !r.state.continues(r) {
			if err := w.takeApart(r); err != nil {
				return err
			}
			unsure = append(unsure, r)
		} else {
			w.putPlainly(r)
			if r.base == r.state.base {
				r.lastSample, r.lastObject = max(r.lastSample, r.state.lastSample), max(r.lastObject, r.state.lastObject)
			}
		}
		previous = r.state
	}
	merge := w.mergeRows
	if w.table.db.Versioned != nil {
		merge = w.reconcileRows
	}
	for rows := range slices.Chunk(unsure, rowsPerRead) {
		if err := merge(ctx, rows); err != nil {
			return err
		}
	}
	return nil
}

// putPlainly puts what is new of a row in addition to what it holds.
func (w *tableAppend) putPlainly(r *rowWrite) {
	if r.coded != nil {
		w.coded = append(w.coded, kv.CodedRow{Key: r.key, Cell: r.coded})
		return
	}
	w.puts = append(w.puts, r.plainPut())
}

// takeApart makes points of a coded row.
func (w *tableAppend) takeApart(r *rowWrite) (err error) {
	if r.coded == nil {
		return nil
	}
	if r.points, err = w.decoder.AppendPoints(nil, r.coded); err != nil {
		return fmt.Errorf("row %x of the head: %w", r.key, err)
	}
	r.coded = nil
	return nil
}

// mustRead reports whether a row of a shared table is read whatever this process knows: what was
// acknowledged long ago may be older than what others wrote since, and an object cell may have the
// qualifier of another process's. An append cell is written as a whole.
func (w *tableAppend) mustRead(r *rowWrite) bool {
	return w.table.db.Versioned != nil && (w.flush || len(r.objects) > 0 || w.table.appended)
}

// mergeRows reads rows and makes their mutations.
func (w *tableAppend) mergeRows(ctx context.Context, rows []*rowWrite) error {
	held, err := readRows(ctx, w.table, rows, w.table.db.Get)
	if err != nil {
		return err
	}
	for i, r := range rows {
		w.mergeRow(r, held[i].Cells)
	}
	return nil
}

// readRows reads rows that are to be written or looked at: as they are, or with their past. Few
// read at once.
func readRows[R any](ctx context.Context, s *Table, rows []*rowWrite, get func(ctx context.Context, table, family string, keys [][]byte) ([]R, error)) ([]R, error) {
	select {
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	keys := make([][]byte, len(rows))
	for i, r := range rows {
		keys[i] = r.key
	}
	read, err := get(ctx, s.name, schema.FamilyData, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d rows before writing: %w", len(keys), err)
	}
	s.metrics.rowsRead.Add(float64(len(rows)))
	return read, nil
}

// mergeRow makes the mutation of a row that holds the cells.
func (w *tableAppend) mergeRow(r *rowWrite, cells []kv.Cell) {
	s := w.table
	if len(cells) == 0 {
		s.metrics.rowsNew.Inc()
	}
	if err := w.content.Load(cells); err != nil {
		// The row fails its queries until it is repaired; refusing new points would lose them
		// as well.
		s.logger.Error("row holds a cell that cannot be read; new points are put next to it unchecked: repair it with tsdbridge fsck",
			"table", s.name, "row", hex.EncodeToString(r.key), "err", err)
		w.puts = append(w.puts, r.plainPut())
		return
	}
	c := w.content.Merge(r.points, r.objects)
	r.lastSample, r.lastObject = w.content.Last()
	s.metrics.pointsKnown.Add(float64(c.Known))
	c.ReplacePoints = c.ReplacePoints || row.AnyMistaken(cells)
	if c.ReplacePoints || c.ReplaceObjects {
		s.metrics.rowsReplaced.Inc()
	}
	if s.exclusive && len(cells) > manyCells {
		// The next late point will read this row too: leave it less to read. Deletes cost nothing
		// where rows are folded; on a cluster they would be a tombstone for each cell.
		c.ReplacePoints = c.ReplacePoints || len(w.content.Points) > 0
		c.ReplaceObjects = c.ReplaceObjects || len(w.content.Objects) > 0
	}
	if m := w.content.Mutation(r.key, cells, c); len(m.Puts) > 0 || len(m.Deletes) > 0 {
		w.puts = append(w.puts, m)
	}
}

// begins reports whether the row of r is not in the table yet.
func (st *state) begins(r *rowWrite) bool { return st.known && st.newest && r.base > st.base }

// continues reports whether everything in r comes after what its row holds.
func (st *state) continues(r *rowWrite) bool {
	if st.begins(r) {
		return true
	}
	if !st.known || st.base != r.base {
		return false
	}
	if r.coded != nil {
		return int32(r.first) > st.lastSample
	}
	if len(r.points) > 0 && int32(r.points[0].Offset) <= st.lastSample {
		return false
	}
	for i, o := range r.objects {
		if i == 0 && int32(o.Offset) <= st.lastObject || o.Kind.IsSample() && int32(o.Offset) <= st.lastSample {
			return false
		}
	}
	return true
}

func lastOffsets(r *rowWrite) (sample, object int32) {
	sample, object = -1, -1
	if r.coded != nil {
		return int32(r.last), object
	}
	if n := len(r.points); n > 0 {
		sample = int32(r.points[n-1].Offset)
	}
	for _, o := range r.objects {
		object = int32(o.Offset)
		if o.Kind.IsSample() {
			sample = max(sample, object)
		}
	}
	return sample, object
}

func (w *tableAppend) makeKeys() {
	begins := make([]int, len(w.rows)+1)
	for i := range w.rows {
		w.keys = w.table.layout.AppendRowKey(w.keys, []byte(w.table.index.TSUID(index.IDOf(w.rows[i].ref))), w.rows[i].base)
		begins[i+1] = len(w.keys)
	}
	for i := range w.rows {
		w.rows[i].key = w.keys[begins[i]:begins[i+1]:begins[i+1]]
	}
}

// sortPuts brings the mutations into key order: neighbours in the table are cheaper to insert one
// after the other.
func (w *tableAppend) sortPuts() {
	slices.SortFunc(w.puts, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	slices.SortFunc(w.coded, func(a, b kv.CodedRow) int { return bytes.Compare(a.Key, b.Key) })
}

// plainPut puts the new cells in addition to what the row holds.
func (r *rowWrite) plainPut() kv.Mutation {
	return kv.Mutation{Key: r.key, Puts: row.Cells(r.points, r.objects)}
}

// put sends the mutations and notes how far each series' row is written now.
func (w *tableAppend) put(ctx context.Context, apply applyFunc) error {
	if n := len(w.puts) + len(w.changes) + len(w.coded); n > 0 {
		if err := w.keepDays(ctx); err != nil {
			return err
		}
		if err := w.send(ctx, apply); err != nil {
			for i := range w.rows {
				// what the rows hold now is uncertain
				w.rows[i].state.known, w.rows[i].state.newest = false, false
			}
			return fmt.Errorf("write %d rows: %w", n, err)
		}
		w.table.metrics.rowsPut.Add(float64(n))
	}
	for i := range w.rows {
		r := &w.rows[i]
		if r.state.newest && r.base < r.state.base {
			continue // what is known of the last row is worth more
		}
		r.state.known, r.state.base = true, r.base
		r.state.lastSample, r.state.lastObject = r.lastSample, r.lastObject
	}
	return nil
}

// send sends the mutations and the coded rows. No key is in both.
func (w *tableAppend) send(ctx context.Context, apply applyFunc) error {
	t := w.table
	if err := w.sendMutations(ctx, apply); err != nil {
		return err
	}
	if len(w.coded) > 0 {
		return t.db.Coded.ApplyCoded(ctx, t.name, schema.FamilyData, w.coded)
	}
	return nil
}

// keepDays sees to it that tsdb-meta has the days of all rows that are about to be put.
func (w *tableAppend) keepDays(ctx context.Context) error {
	days := w.table.days
	if days == nil {
		return nil
	}
	var wider []index.ID
	for i := range w.rows {
		wider = days.Widen(wider, index.IDOf(w.rows[i].ref), w.rows[i].base)
	}
	if len(wider) == 0 {
		return nil
	}
	if err := days.Put(ctx, wider); err != nil {
		return fmt.Errorf("write the days of %d series: %w", len(wider), err)
	}
	return nil
}

// locks are the states of series that an append holds, in the order of their refs.
type locks struct {
	locked []*state
}

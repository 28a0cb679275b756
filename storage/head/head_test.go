package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// begin is the first hour of the tests.
const begin = int64(1_700_000_000_000) / hour * hour

// someIDs lie in one page, in two, in different shards.
var someIDs = []uint32{0, 1, 2, 255, 256, 70_000}

// writer makes random batches over a few series and hours.
type writer struct {
	rng    *rand.Rand
	clock  int64
	starts bool // start times too
}

func (w *writer) time() int64 {
	switch w.rng.IntN(10) {
	case 0: // anywhere, often where a point already stands
		return begin + w.rng.Int64N(3*60)*60_000
	case 1: // just now
		return w.clock
	default:
		w.clock += w.rng.Int64N(2) * (1 + w.rng.Int64N(30_000))
		return min(w.clock, begin+3*hour-1)
	}
}

func (w *writer) value() float64 {
	if w.rng.IntN(2) == 0 {
		return corners[w.rng.IntN(len(corners))]
	}
	return float64(w.rng.IntN(1000)) / 100
}

func (w *writer) batch() *Batch {
	b := &Batch{}
	for range w.rng.IntN(60) {
		id := someIDs[w.rng.IntN(len(someIDs))]
		if w.rng.IntN(5) == 0 {
			w.object(b, id)
			continue
		}
		b.IDs, b.Times = append(b.IDs, id), append(b.Times, w.time())
		integer := id == 1 && w.rng.IntN(3) > 0
		v := w.value()
		if integer {
			v = math.Float64frombits(w.rng.Uint64() >> w.rng.UintN(64))
		}
		form := storage.FormFloat
		switch {
		case integer:
			form = storage.FormInteger
		case id < 3 && w.rng.IntN(3) == 0:
			form = storage.FormDouble
		}
		b.Values, b.Forms = append(b.Values, v), append(b.Forms, form)
	}
	return b
}

func (w *writer) object(b *Batch, id uint32) {
	kinds := []storage.Kind{storage.KindHistogram, storage.KindExemplar, storage.KindStartTime}
	if !w.starts {
		kinds = kinds[:2]
	}
	data := []byte(fmt.Sprintf("data %d", w.rng.IntN(5)))
	b.Objects = append(b.Objects, Object{ID: id, Time: w.time(), Kind: kinds[w.rng.IntN(len(kinds))], Data: data, After: len(b.IDs)})
}

// checkSeries compares the head's points of a series with a model, read whole, in part and by rows.
func checkSeries(t *testing.T, h *Head, want model, id uint32, start, end int64) {
	t.Helper()
	var p Points
	h.Read(id, start, end, &p)
	got, err := pointsLines(&p)
	if err != nil {
		t.Fatalf("series %d: %v", id, err)
	}
	if d := diff(got, want.lines(id, start, end, false)); d != "" {
		t.Fatalf("series %d from %d to %d:\n%s", id, start, end, d)
	}
	checkNewest(t, h, &p, id, start, end)
	checkTaken(t, h, want, id, start, end)
	checkRows(t, h, want, id)
}

// checkNewest compares the newest sample of a series with all points of a read.
func checkNewest(t *testing.T, h *Head, all *Points, id uint32, start, end int64) {
	t.Helper()
	time, value, ok := h.Newest(id, start, end)
	if !ok {
		return
	}
	n := len(all.Times) - 1
	if n < 0 || all.Times[n] != time || math.Float64bits(all.Values[n]) != math.Float64bits(value) {
		t.Fatalf("series %d from %d to %d: Newest = %d %v, want the last of %v %v", id, start, end, time, value, all.Times, all.Values)
	}
	if last := len(all.Objects) - 1; last >= 0 && all.Objects[last].Time/hour >= time/hour {
		t.Fatalf("series %d from %d to %d: Newest = %d, with an object at %d", id, start, end, time, all.Objects[last].Time)
	}
}

// checkTaken reads a series from a snapshot in which others come before and after it.
func checkTaken(t *testing.T, h *Head, want model, id uint32, start, end int64) {
	t.Helper()
	var s Snapshot
	h.Take(someIDs[0], start, end, &s)
	taken := h.Take(id, start, end, &s)
	h.Take(someIDs[1], start, end, &s)
	p := Points{Times: []int64{0}, Values: []float64{0}}
	s.Read(taken, start, end, &p)
	p.Times, p.Values = p.Times[1:], p.Values[1:]
	if n := len(p.Times); n > taken.Points() || taken.Empty() && n > 0 {
		t.Fatalf("series %d: %d points where there were said to be %d at most", id, n, taken.Points())
	}
	got, err := pointsLines(&p)
	if err != nil {
		t.Fatalf("series %d: %v", id, err)
	}
	if d := diff(got, want.lines(id, start, end, false)); d != "" {
		t.Fatalf("series %d from %d to %d, from a snapshot:\n%s", id, start, end, d)
	}
}

func checkRows(t *testing.T, h *Head, want model, id uint32) {
	t.Helper()
	got := model{}
	var b RowBuffer
	for base := begin; base < begin+3*hour; base += hour {
		r := h.Row(id, uint32(base/1000), &b)
		if err := got.put(r); err != nil {
			t.Fatalf("series %d: %v", id, err)
		}
		if something := len(r.Points)+len(r.Objects) > 0; something != h.Holds(id, r.Base) || something != h.HoldsBetween(id, base+hour-1, base+hour-1) {
			t.Fatalf("series %d, hour %d: Holds is %v", id, r.Base, !something)
		}
	}
	if d := diff(got.lines(id, 0, math.MaxInt64, true), want.lines(id, 0, math.MaxInt64, true)); d != "" {
		t.Fatalf("rows of series %d:\n%s", id, d)
	}
}

// TestNewestWriteWins writes at random without sealing any row.
func TestNewestWriteWins(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random histories", 20, 20, 2000) {
		w := writer{rng: rand.New(rand.NewPCG(seed, 1)), clock: begin, starts: true}
		h, m := New(DefaultOptions()), model{}
		for step := range 30 {
			b := w.batch()
			m.append(b)
			h.Append(b, uint64(step))
		}
		for _, id := range someIDs {
			checkSeries(t, h, m, id, math.MinInt64, math.MaxInt64)
			start := begin + w.rng.Int64N(3*hour)
			checkSeries(t, h, m, id, start, start+w.rng.Int64N(hour))
		}
	}
}

// The newest point of a row that is open and has points in order is known without decoding.
func TestNewest(t *testing.T) {
	h := New(DefaultOptions())
	values := []float64{1, 1, 2, 3, 0.1, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Pi, 1e300, 7, math.Float64frombits(0x7ff0000000000002)}
	for i, v := range values {
		at := begin + int64(i)*15_000
		h.Append(&Batch{IDs: []uint32{1}, Times: []int64{at}, Values: []float64{v}}, 1)
		time, got, ok := h.Newest(1, begin, at)
		if !ok || time != at || math.Float64bits(got) != math.Float64bits(v) {
			t.Errorf("Newest after %v = %d %v %v", v, time, got, ok)
		}
	}
	at := begin + int64(len(values)-1)*15_000
	for _, c := range []struct{ start, end int64 }{{at + 1, at + 1000}, {begin, at - 1}, {begin - hour, begin - 1}} {
		if time, _, ok := h.Newest(1, c.start, c.end); ok {
			t.Errorf("Newest from %d to %d = %d", c.start, c.end, time)
		}
	}
	if _, _, ok := h.Newest(2, begin, at); ok {
		t.Error("Newest of a series without points is known")
	}
}

// TestHeadAndTable writes at random while rows are sealed, put and taken back: at every step head
// and table together equal the model.
func TestHeadAndTable(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random histories over a table", 20, 20, 2000) {
		w := writer{rng: rand.New(rand.NewPCG(seed, 2)), clock: begin}
		h, m, table := New(DefaultOptions()), model{}, model{}
		var out []*Sealed
		for step := range 40 {
			b := w.batch()
			m.append(b)
			h.Append(b, uint64(step))
			if w.rng.IntN(3) == 0 {
				out = seal(h, w.rng, out)
			}
			if len(out) > 0 && w.rng.IntN(3) == 0 {
				n := w.rng.IntN(len(out))
				end(t, out[n], table, w.rng.IntN(2) == 0)
				out = append(out[:n], out[n+1:]...)
			}
			if step%8 == 7 {
				checkBoth(t, h, table, m)
				checkStats(t, h)
			}
		}
		for _, s := range out {
			end(t, s, table, true)
		}
		for s := range h.Seal(Everything()) {
			end(t, s, table, true)
		}
		checkBoth(t, h, table, m)
		if st := h.Stats(); st.Rows != 0 || st.Bytes != 0 || st.SealedBytes != 0 || st.Sealed != 0 {
			t.Fatalf("seed %d: an empty head has %+v", seed, st)
		}
	}
}

func seal(h *Head, rng *rand.Rand, out []*Sealed) []*Sealed {
	p := Policy{EndedBefore: begin + rng.Int64N(4*hour), Rows: 1 + rng.IntN(5)}
	if rng.IntN(2) == 0 {
		p = Policy{MaxBytes: 1 + rng.Int64N(4000), Rows: 3}
	}
	p.Coded = rng.IntN(2) == 0
	for s := range h.Seal(p) {
		out = append(out, s)
	}
	return out
}

// end puts a batch or takes it back.
func end(t *testing.T, s *Sealed, table model, put bool) {
	t.Helper()
	if !put {
		s.Keep()
		return
	}
	for _, r := range s.Rows {
		if err := table.put(r); err != nil {
			t.Fatal(err)
		}
	}
	s.Drop()
}

// checkBoth reads the head together with the table.
func checkBoth(t *testing.T, h *Head, table, want model) {
	t.Helper()
	both := table.clone()
	var b RowBuffer
	for id := range h.Series() {
		for base := begin; base < begin+3*hour; base += hour {
			if err := both.put(h.Row(id, uint32(base/1000), &b)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range someIDs {
		if d := diff(both.lines(id, 0, math.MaxInt64, true), want.lines(id, 0, math.MaxInt64, true)); d != "" {
			t.Fatalf("series %d:\n%s", id, d)
		}
	}
}

// checkStats counts the rows and their memory one by one.
func checkStats(t *testing.T, h *Head) {
	t.Helper()
	var want Stats
	h.sweep(func(s *shard, r *openRow) {
		want.Rows++
		want.Bytes += s.rowBytes(r)
		if r.sealed {
			want.Sealed++
			want.SealedBytes += s.rowBytes(r)
		}
	})
	got := h.Stats()
	if got.Held < got.Bytes {
		t.Fatalf("%+v: holds less than it uses", got)
	}
	got.Held = 0
	if got != want {
		t.Fatalf("Stats() = %+v, want %+v", got, want)
	}
}

func TestMarksOfWhatIsLeft(t *testing.T) {
	h := New(DefaultOptions())
	write := func(id uint32, time int64, mark uint64) {
		h.Append(&Batch{IDs: []uint32{id}, Times: []int64{time}, Values: []float64{1}}, mark)
	}
	want := func(what string, mark uint64, ok bool) {
		t.Helper()
		if got, has := h.OldestMark(); got != mark || has != ok {
			t.Errorf("%s: OldestMark() = %d, %v, want %d, %v", what, got, has, mark, ok)
		}
	}
	sealOne := func(p Policy) *Sealed {
		t.Helper()
		for s := range h.Seal(p) {
			return s
		}
		t.Fatal("nothing is due")
		return nil
	}
	want("empty", 0, false)
	write(1, begin, 10)
	write(2, begin, 20)
	write(2, begin+1000, 15) // appends may come in another order than their records
	want("two rows", 10, true)
	s := sealOne(Policy{MarkedBefore: 15})
	want("one handed out", 10, true)
	write(1, begin+1000, 30)
	s.Keep()
	want("and taken back", 10, true)
	s = sealOne(Policy{MarkedBefore: 15})
	if len(s.Rows) != 1 || len(s.Rows[0].Points) != 2 {
		t.Errorf("rows %+v, want one of two points", s.Rows)
	}
	write(1, begin+2000, 40)
	s.Drop()
	want("dropped", 15, true)
	s = sealOne(Everything())
	write(2, begin+3000, 12)
	s.Keep()
	want("taken back with an older one", 12, true)
	s = sealOne(Everything())
	s.Drop()
	s.Drop()
	want("all dropped", 0, false)
}

func TestRowIsHandedOutOnceAtATime(t *testing.T) {
	h := New(DefaultOptions())
	point := func(i int64) *Batch {
		return &Batch{IDs: []uint32{7}, Times: []int64{begin + i*1000}, Values: []float64{float64(i)}}
	}
	h.Append(point(0), 1)
	var first *Sealed
	for first = range h.Seal(Everything()) {
	}
	h.Append(point(1), 2)
	for s := range h.Seal(Everything()) {
		t.Fatalf("rows %+v are handed out while an older part of them is", s.Rows)
	}
	var p Points
	if h.Read(7, 0, math.MaxInt64, &p); len(p.Times) != 2 {
		t.Errorf("read %v, want two points", p.Times)
	}
	first.Drop()
	for s := range h.Seal(Everything()) {
		if r := s.Rows[0]; len(r.Points) != 1 || r.Points[0].Offset != 1000 {
			t.Errorf("row %+v, want the second point alone", r)
		}
		s.Drop()
	}
}

func TestNewerPartOfAnHourWins(t *testing.T) {
	h := New(DefaultOptions())
	write := func(v float64) {
		h.Append(&Batch{IDs: []uint32{7}, Times: []int64{begin}, Values: []float64{v}}, 1)
	}
	write(1)
	for s := range h.Seal(Everything()) {
		write(2)
		var p Points
		if h.Read(7, 0, math.MaxInt64, &p); fmt.Sprint(p.Values) != "[2]" {
			t.Errorf("read %v while the first is handed out, want the second", p.Values)
		}
		s.Keep()
	}
	var b RowBuffer
	if r := h.Row(7, uint32(begin/1000), &b); len(r.Points) != 1 || r.Points[0].Float() != 2 {
		t.Errorf("row %+v after it was taken back, want the second value", r)
	}
}

func TestPolicies(t *testing.T) {
	clock := time.Unix(1000, 0)
	o := DefaultOptions()
	o.Now = func() time.Time { return clock }
	fill := func() *Head {
		h := New(o)
		// series id: an hour each, arrived at 1000+id s, 100*id points with a new value each
		for id := range uint32(4) {
			clock = time.Unix(1000+int64(id), 0)
			for i := range 1 + 100*int64(id) {
				h.Append(&Batch{IDs: []uint32{id}, Times: []int64{begin + int64(id)*hour + i*1000}, Values: []float64{float64(i * i * i)}}, uint64(10*id))
			}
		}
		return h
	}
	size := func(id uint32) int64 {
		h := fill()
		var n int64
		h.sweep(func(s *shard, r *openRow) {
			if r.id == id {
				n = s.rowBytes(r)
			}
		})
		return n
	}
	all := size(0) + size(1) + size(2) + size(3)
	for _, c := range []struct {
		name string
		p    Policy
		want string
	}{
		{"nothing", Policy{}, "[]"},
		{"hours", Policy{EndedBefore: begin + 2*hour + 1}, "[0 1]"},
		{"an hour that ends just then", Policy{EndedBefore: begin + 2*hour}, "[0]"},
		{"hours that have settled", Policy{EndedBefore: begin + 4*hour, SettledBefore: time.Unix(1001, 0)}, "[0]"},
		{"arrival", Policy{OpenedBefore: time.Unix(1002, 0)}, "[0 1]"},
		{"marks", Policy{MarkedBefore: 11}, "[0 1]"},
		{"budget that is kept", Policy{MaxBytes: all}, "[]"},
		{"budget over by a byte", Policy{MaxBytes: all - 1}, "[3]"},
		{"budget over by the biggest", Policy{MaxBytes: all - size(3) - 1}, "[2 3]"},
		{"age is enough for the budget", Policy{MaxBytes: all - size(0), OpenedBefore: time.Unix(1001, 0)}, "[0]"},
		{"everything", Everything(), "[0 1 2 3]"},
		{"one by one", Policy{EndedBefore: math.MaxInt64, Rows: 1}, "[0][1][2][3]"},
		{"by points", Policy{EndedBefore: math.MaxInt64, Points: 150}, "[0 1 2][3]"},
	} {
		got := ""
		for s := range fill().Seal(c.p) {
			ids := []uint32{}
			for _, r := range s.Rows {
				ids = append(ids, r.ID)
			}
			got += fmt.Sprint(ids)
		}
		if got == "" {
			got = "[]"
		}
		if got != c.want {
			t.Errorf("%s: handed out %s, want %s", c.name, got, c.want)
		}
	}
}

// TestBudgetCountsWhatIsHandedOut: bytes that are on their way to the table are counted as freed.
func TestBudgetCountsWhatIsHandedOut(t *testing.T) {
	h := New(DefaultOptions())
	for id := range uint32(10) {
		count := 20 * int64(id)
		if id == 9 {
			count = 2000 // in a class of its own
		}
		for i := range 1 + count {
			h.Append(&Batch{IDs: []uint32{id}, Times: []int64{begin + i*1000}, Values: []float64{float64(i * i * i)}}, 1)
		}
	}
	budget := h.Stats().Bytes - 1
	sealed := 0
	for range 3 {
		for s := range h.Seal(Policy{MaxBytes: budget}) {
			sealed += len(s.Rows)
		}
	}
	if sealed != 1 {
		t.Errorf("a byte too much: %d rows handed out, want 1", sealed)
	}
	// When half of the rest must be flushed, the next biggest rows go next; the row that is already
	// sealed no longer counts.
	st := h.Stats()
	for s := range h.Seal(Policy{MaxBytes: st.Bytes - st.SealedBytes - 1}) {
		for _, r := range s.Rows {
			if len(r.Points) < 100 {
				t.Errorf("a row of %d points is handed out before bigger ones", len(r.Points))
			}
		}
		sealed += len(s.Rows)
	}
	if sealed != 2 {
		t.Errorf("%d rows handed out in all, want 2", sealed)
	}
}

func TestOldestArrival(t *testing.T) {
	clock := int64(2000)
	o := DefaultOptions()
	o.Now = func() time.Time { return time.Unix(clock, 0) }
	h := New(o)
	want := func(unix int64, ok bool) {
		t.Helper()
		if at, has := h.OldestArrival(); has != ok || has && at.Unix() != unix {
			t.Errorf("OldestArrival() = %v, %v, want %d, %v", at, has, unix, ok)
		}
	}
	want(0, false)
	b := &Batch{IDs: []uint32{1}, Times: []int64{begin}, Values: []float64{1}}
	h.Append(b, 1)
	want(2000, true)
	for s := range h.Seal(Everything()) {
		clock = 1500 // clocks are set back
		h.Append(b, 1)
		want(1500, true)
		s.Keep()
	}
	want(1500, true)
}

func TestMemory(t *testing.T) {
	st := filled(5000, 240).Stats()
	if perPoint := float64(st.Bytes) / (5000 * 240); perPoint > 2 {
		t.Errorf("an hour of 240 points takes %.2f bytes a point, want at most 2", perPoint)
	}
	st = filled(50_000, 3).Stats()
	if perSeries := float64(st.Held) / 50_000; perSeries > 200 {
		t.Errorf("a series with 3 points takes %.0f bytes, want at most 200", perSeries)
	}
}

func TestBatchSentTwiceCostsNothing(t *testing.T) {
	h := New(DefaultOptions())
	batches := newNode(500).steps(20, begin)
	for i := range batches {
		h.Append(&batches[i], 1)
		before := h.Stats()
		h.Append(&batches[i], 2)
		if after := h.Stats(); after != before {
			t.Fatalf("step %d again: %+v, was %+v", i, after, before)
		}
	}
}

func TestSameInstantOfAnotherTypeWins(t *testing.T) {
	big := math.Float64frombits(math.MaxInt64)
	for _, c := range []struct{ integer, float float64 }{{0, 0}, {big, math.MaxInt64}} {
		h, m := New(DefaultOptions()), model{}
		const integer, float, double = storage.FormInteger, storage.FormFloat, storage.FormDouble
		for _, form := range []storage.Form{integer, float, double, float, double, integer, double} {
			b := &Batch{IDs: []uint32{1}, Times: []int64{begin}, Values: []float64{c.float}, Forms: []storage.Form{form}}
			if form == integer {
				b.Values[0] = c.integer
			}
			h.Append(b, 1)
			m.append(b)
			checkSeries(t, h, m, 1, begin, begin)
		}
	}
}

func TestFloatObjectIsAFloat(t *testing.T) {
	h := New(DefaultOptions())
	stale := math.Float64frombits(0x7FF0000000000002)
	h.Append(&Batch{Objects: []Object{{ID: 3, Time: begin + 1500, Kind: storage.KindFloat, Data: own.FloatObject(1500, stale).Data}}}, 1)
	var p Points
	h.Read(3, begin, begin+hour, &p)
	if len(p.Values) != 1 || math.Float64bits(p.Values[0]) != math.Float64bits(stale) || len(p.Objects) != 0 {
		t.Errorf("read %x and objects %v, want the float", p.Values, p.Objects)
	}
	var b RowBuffer
	if r := h.Row(3, uint32(begin/1000), &b); len(r.Points) != 0 || len(r.Objects) != 1 || r.Objects[0].Kind != storage.KindFloat {
		t.Errorf("row %+v, want one object", r)
	}
}

func TestReadsAppendToTheBuffer(t *testing.T) {
	h := New(DefaultOptions())
	var p Points
	p.Reset()
	for id := range uint32(3) {
		h.Append(&Batch{
			IDs: []uint32{id}, Times: []int64{begin + int64(id)*1000}, Values: []float64{float64(id)},
			Objects: []Object{{ID: id, Time: begin + int64(id)*1000, Kind: storage.KindExemplar, Data: fmt.Append(nil, "of ", id)}},
		}, 1)
		h.Read(id, begin, begin+hour, &p)
	}
	if got, want := fmt.Sprint(p.Values), "[0 1 2]"; got != want {
		t.Errorf("values %s, want %s", got, want)
	}
	for i, o := range p.Objects {
		if want := fmt.Sprint("of ", i); string(o.Data) != want || o.ID != uint32(i) {
			t.Errorf("object %d of series %d is %q, want %q", i, o.ID, o.Data, want)
		}
	}
	p.Reset()
	if h.Read(1, begin, begin+hour, &p); len(p.Times) != 1 || len(p.Objects) != 1 {
		t.Errorf("after a reset: %v and %v", p.Times, p.Objects)
	}
}

func TestBoundsAreInclusive(t *testing.T) {
	// this makes the read use the general path
	late := &Batch{IDs: []uint32{1}, Times: []int64{begin + 2000}, Values: []float64{2}}
	for _, batches := range [][]*Batch{nil, {late}} {
		h := New(DefaultOptions())
		for i := range int64(4) {
			h.Append(&Batch{IDs: []uint32{1}, Times: []int64{begin + i*1000}, Values: []float64{float64(i)}}, 1)
		}
		for _, b := range batches {
			h.Append(b, 1)
		}
		for _, c := range []struct {
			start, end int64
			want       string
		}{
			{0, 3000, "[0 1 2 3]"},
			{1000, 2000, "[1 2]"},
			{1001, 1999, "[]"},
			{1000, 1000, "[1]"},
			{3000, 9000, "[3]"},
			{3001, 9000, "[]"},
			{-5, 0, "[0]"},
			{-5, -1, "[]"},
			{2000, 1000, "[]"},
			{hour, 2 * hour, "[]"},
		} {
			var p Points
			h.Read(1, begin+c.start, begin+c.end, &p)
			if got := fmt.Sprint(p.Values); got != c.want || len(p.Times) != len(p.Values) {
				t.Errorf("from %d to %d: %v at %v, want %s", c.start, c.end, got, p.Times, c.want)
			}
		}
		for base, want := range map[int64]bool{begin - hour: false, begin: true, begin + hour: false} {
			if got := h.HoldsBetween(1, base, base+hour-1); got != want {
				t.Errorf("HoldsBetween the hour of %d: %v, want %v", base, got, want)
			}
		}
	}
}

func TestTimesOutsideTheRowKeysPanic(t *testing.T) {
	for _, time := range []int64{-1, 1 << 32 * 1000} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("time %d was taken", time)
				}
			}()
			New(DefaultOptions()).Append(&Batch{IDs: []uint32{1}, Times: []int64{time}, Values: []float64{1}}, 1)
		}()
	}
}

func TestLatePointsAreBounded(t *testing.T) {
	h := New(DefaultOptions())
	for round := range 200 {
		for i := range int64(60) { // the same minute again and again, with other values
			h.Append(&Batch{IDs: []uint32{1}, Times: []int64{begin + i*1000}, Values: []float64{float64(round)}}, 1)
		}
	}
	if st := h.Stats(); st.Bytes > 5000 {
		t.Errorf("60 points written 200 times take %d bytes", st.Bytes)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	batches := newNode(1000).steps(240, begin)
	h := New(DefaultOptions())
	i := 0
	if n := testing.AllocsPerRun(200, func() { h.Append(&batches[i], 1); i++ }); n > 5 {
		t.Errorf("%v allocations for 1000 points, want at most 5 (slabs)", n)
	}
}

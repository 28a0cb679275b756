package remotewrite

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"github.com/golang/snappy"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A record of a spool is
//
//	version   1 byte, 1
//	time      8 bytes, the highest first: when it came, milliseconds since the epoch
//	the rest  compressed by snappy, as a block
//
// and the rest, before it is compressed,
//
//	series    their number, and for each its TSUID after its length
//	entries   up to the end: the number of the series, the kind as a byte, the time less that of the entry
//	          before, and 8 bytes of a float, the highest first, or an object after its length
//
// Numbers and lengths are unsigned varints, times are signed ones.
const (
	recordVersion = 1
	recordHead    = 9
	// recordBytes is how large the entries of a record become, about.
	recordBytes = 4 << 20
	// mostObject is the largest object that is kept.
	mostObject = 8 << 20
	// mostRecord bounds a record that is read, when it is not compressed.
	mostRecord = 4 * mostObject
	// mostSeries bounds the series of a record.
	mostSeries = 100_000
)

var errRecord = errors.New("a record of the spool is not one of this version")

// kindFloat is the kind of an entry that is no object.
const kindFloat storage.Kind = 0

// An entry is a float or an object of a series.
type entry struct {
	series int // number in its record
	kind   storage.Kind
	time   int64 // milliseconds
	value  float64
	data   []byte
}

// records are a batch as it is kept.
type records struct {
	all     [][]byte
	entries int // in all of them
	refused int // entries that are too large
	came    int64
}

// A recorder writes records.
type recorder struct {
	tsuidsOf func(dst [][]byte, refs []storage.Ref) [][]byte
	out      records

	numbers map[storage.Ref]int // in refs
	refs    []storage.Ref       // of the record
	tsuids  [][]byte
	entries []byte
	plain   []byte
	count   int
	last    int64
}

// recorders keeps recorders for the next batches: a batch of thousands of series needs much memory for a moment.
type recorders struct{ sync.Pool }

// encode returns the records of a batch.
func (p *recorders) encode(b *storage.Batch, tsuidsOf func([][]byte, []storage.Ref) [][]byte, now int64) records {
	w, _ := p.Get().(*recorder)
	if w == nil {
		w = &recorder{numbers: map[storage.Ref]int{}}
	}
	defer p.Put(w)
	w.tsuidsOf, w.out = tsuidsOf, records{came: now}
	w.batch(b)
	return w.out
}

func (w *recorder) batch(b *storage.Batch) {
	objects := b.Objects
	for i, ref := range b.Refs {
		for len(objects) > 0 && objects[0].After() <= i {
			w.object(&objects[0])
			objects = objects[1:]
		}
		value := b.Values[i]
		if b.Forms != nil && b.Forms[i] == storage.FormInteger {
			value = float64(int64(math.Float64bits(value))) //nolint:gosec // the bits are those of an integer
		}
		w.begin(ref, kindFloat, b.Times[i])
		w.entries = binary.BigEndian.AppendUint64(w.entries, math.Float64bits(value))
		w.cut()
	}
	for i := range objects {
		w.object(&objects[i])
	}
	w.end()
}

func (w *recorder) object(o *storage.Object) {
	if len(o.Data) > mostObject {
		w.out.refused++
		return
	}
	w.begin(o.Ref, o.Kind, o.Time)
	w.entries = append(binary.AppendUvarint(w.entries, uint64(len(o.Data))), o.Data...)
	w.cut()
}

// begin writes what every entry begins with.
func (w *recorder) begin(ref storage.Ref, kind storage.Kind, at int64) {
	n := len(w.refs) - 1
	if n < 0 || w.refs[n] != ref { // samples of a series come together
		var ok bool
		if n, ok = w.numbers[ref]; !ok {
			n = len(w.refs)
			w.numbers[ref] = n
			w.refs = append(w.refs, ref)
		}
	}
	w.entries = append(binary.AppendUvarint(w.entries, uint64(n)), byte(kind)) //nolint:gosec // not negative
	w.entries = binary.AppendVarint(w.entries, at-w.last)
	w.last = at
	w.count++
}

// cut ends a record that is large enough.
func (w *recorder) cut() {
	if len(w.entries) >= recordBytes || len(w.refs) >= mostSeries {
		w.end()
	}
}

func (w *recorder) end() {
	if w.count == 0 {
		return
	}
	w.tsuids = w.tsuidsOf(w.tsuids[:0], w.refs)
	w.plain = binary.AppendUvarint(w.plain[:0], uint64(len(w.tsuids)))
	for _, tsuid := range w.tsuids {
		w.plain = append(binary.AppendUvarint(w.plain, uint64(len(tsuid))), tsuid...)
	}
	w.plain = append(w.plain, w.entries...)
	record := make([]byte, recordHead+snappy.MaxEncodedLen(len(w.plain)))
	record[0] = recordVersion
	binary.BigEndian.PutUint64(record[1:], uint64(w.out.came)) //nolint:gosec // read back as it is
	record = record[:recordHead+len(snappy.Encode(record[recordHead:], w.plain))]
	w.out.all, w.out.entries = append(w.out.all, record), w.out.entries+w.count
	clear(w.numbers)
	w.refs, w.entries, w.count, w.last = w.refs[:0], w.entries[:0], 0, 0
}

// cameAt returns when a record came, in milliseconds.
func cameAt(record []byte) (int64, error) {
	if len(record) < recordHead || record[0] != recordVersion {
		return 0, errRecord
	}
	return int64(binary.BigEndian.Uint64(record[1:])), nil //nolint:gosec // as it was written
}

// decodeRecord returns the TSUIDs and the entries of a record, in memory of their own.
func decodeRecord(record []byte) (tsuids [][]byte, entries []entry, err error) {
	if _, err := cameAt(record); err != nil {
		return nil, nil, err
	}
	if n, err := snappy.DecodedLen(record[recordHead:]); err != nil || n > mostRecord {
		return nil, nil, errRecord
	}
	plain, err := snappy.Decode(nil, record[recordHead:])
	if err != nil {
		return nil, nil, errRecord
	}
	r := reader{rest: plain}
	n := r.number()
	if n > mostSeries {
		return nil, nil, errRecord
	}
	for range n {
		tsuids = append(tsuids, r.bytes())
	}
	var last int64
	for len(r.rest) > 0 && !r.bad {
		e := r.entry(last)
		if r.bad || e.series >= len(tsuids) {
			return nil, nil, errRecord
		}
		last = e.time
		entries = append(entries, e)
	}
	if r.bad {
		return nil, nil, errRecord
	}
	return tsuids, entries, nil
}

// A reader reads a record from its front.
type reader struct {
	rest []byte
	bad  bool // the record is too short
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) bytes() []byte { return r.take(r.number()) }

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) entry(last int64) (e entry) {
	series, kind := r.number(), r.take(1)
	if series >= mostSeries || kind == nil {
		r.bad = true
		return e
	}
	e.series, e.kind = int(series), storage.Kind(kind[0]) //nolint:gosec // bounded above
	delta, size := binary.Varint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return e
	}
	r.rest, e.time = r.rest[size:], last+delta
	if e.kind != kindFloat {
		e.data = r.bytes()
		return e
	}
	if b := r.take(8); b != nil {
		e.value = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return e
}

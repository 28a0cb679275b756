package columns

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/storage"
)

// AppendTo appends the batch as bytes:
//
//	series    count, then for each: number of labels, names and values
//	points    runs of one series: series + 1, count, times (differences), values (8 bytes each); 0 ends them
//	objects   count, then for each: series, points before it (difference), time, kind, data
//	metadata  count, then for each: family, type, unit, help
//
// Numbers are varints, strings have their length before them.
func (b *Batch) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b.Labels)))
	for _, ls := range b.Labels {
		dst = binary.AppendUvarint(dst, uint64(ls.Len()))
		ls.Range(func(l labels.Label) { dst = appendString(appendString(dst, l.Name), l.Value) })
	}
	dst = appendPoints(dst, &b.Points)
	dst = binary.AppendUvarint(dst, uint64(len(b.Points.Objects)))
	after := 0
	for i := range b.Points.Objects {
		o := &b.Points.Objects[i]
		dst = binary.AppendUvarint(dst, uint64(o.Ref))
		dst = binary.AppendVarint(dst, int64(o.After()-after))
		after = o.After()
		dst = binary.AppendVarint(dst, o.Time)
		dst = append(dst, byte(o.Kind))
		dst = append(binary.AppendUvarint(dst, uint64(len(o.Data))), o.Data...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Metadata)))
	for family, m := range b.Metadata {
		for _, s := range []string{family, string(m.Type), m.Unit, m.Help} {
			dst = appendString(dst, s)
		}
	}
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendPoints(dst []byte, p *storage.Batch) []byte {
	for from := 0; from < len(p.Refs); {
		to := from + 1
		for to < len(p.Refs) && p.Refs[to] == p.Refs[from] {
			to++
		}
		dst = binary.AppendUvarint(dst, uint64(p.Refs[from])+1)
		dst = binary.AppendUvarint(dst, uint64(to-from))
		last := int64(0)
		for _, t := range p.Times[from:to] {
			dst = binary.AppendVarint(dst, t-last)
			last = t
		}
		for _, v := range p.Values[from:to] {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
		from = to
	}
	return append(dst, 0)
}

// Parse reads a batch that AppendTo has written. What it returns does not use the memory of data.
// An error is a storage.ErrInvalid.
func Parse(data []byte) (*Batch, error) {
	r := reader{rest: data}
	b := &Batch{Metadata: map[string]metadata.Metadata{}}
	r.series(b)
	r.points(b)
	r.objects(b)
	r.metadata(b)
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes follow it", len(r.rest))
	}
	if r.err != nil {
		return nil, fmt.Errorf("%w: batch of samples: %w", storage.ErrInvalid, r.err)
	}
	return b, nil
}

// A reader reads numbers and strings. After an error it returns zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s at %d bytes before its end", what, len(r.rest))
	}
	r.rest = nil
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail("no number")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail("no number")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads a number of things of which each takes so many bytes at least.
func (r *reader) count(least int) int {
	n := r.uvarint()
	if n > uint64(len(r.rest)/least) {
		r.fail("a count that is too large")
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.count(1)
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) string() string { return string(r.bytes()) }

// labelBytes is the length of strings from which on labels panic.
const labelBytes = 1 << 24

func (r *reader) label() string {
	b := r.bytes()
	if len(b) >= labelBytes {
		r.fail("a label that is too long")
		return ""
	}
	return string(b)
}

// number reads the number of a series.
func (r *reader) number(b *Batch, n uint64) storage.Ref {
	if n >= uint64(len(b.Labels)) {
		r.fail("a series that is not there")
		return 0
	}
	return storage.Ref(n)
}

func (r *reader) series(b *Batch) {
	builder := labels.NewScratchBuilder(16)
	for range r.count(1) {
		builder.Reset()
		for range r.count(2) {
			name := r.label()
			builder.Add(name, r.label())
		}
		builder.Sort()
		b.Labels = append(b.Labels, builder.Labels())
	}
}

func (r *reader) points(b *Batch) {
	for {
		n := r.uvarint()
		if n == 0 {
			return
		}
		ref := r.number(b, n-1)
		count := r.count(1 + 8)
		if r.err != nil {
			return
		}
		last := int64(0)
		for range count {
			last += r.varint()
			b.Points.Refs, b.Points.Times = append(b.Points.Refs, ref), append(b.Points.Times, last)
		}
		if len(r.rest) < 8*count {
			r.fail("fewer values than times")
			return
		}
		for i := range count {
			b.Points.Values = append(b.Points.Values, math.Float64frombits(binary.LittleEndian.Uint64(r.rest[8*i:])))
		}
		r.rest = r.rest[8*count:]
	}
}

func (r *reader) objects(b *Batch) {
	after := int64(0)
	for range r.count(5) {
		ref := r.number(b, r.uvarint())
		after += r.varint()
		t := r.varint()
		var kind storage.Kind
		if len(r.rest) > 0 {
			kind, r.rest = storage.Kind(r.rest[0]), r.rest[1:]
		}
		data := append([]byte(nil), r.bytes()...)
		if r.err == nil && (after < 0 || after > int64(len(b.Points.Refs))) {
			r.fail("an object at no place")
		}
		if r.err != nil {
			return
		}
		b.Points.AddObjectAfter(int(after), ref, t, kind, data)
	}
}

func (r *reader) metadata(b *Batch) {
	for range r.count(4) {
		family := r.string()
		m := metadata.Metadata{Type: model.MetricType(r.string())}
		m.Unit = r.string()
		m.Help = r.string()
		b.Metadata[family] = m
	}
}

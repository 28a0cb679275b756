package tablecopy

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// MaxBlockBytes bounds a block as bytes. A source cuts its blocks long before.
const MaxBlockBytes = 128 << 20

// A blockHead is what a block has beside its series, in JSON before these.
type blockHead struct {
	Trees  []Tree   `json:"trees,omitempty"`
	Names  []Name   `json:"names,omitempty"`
	Notes  [][]byte `json:"notes,omitempty"`
	Lost   []Loss   `json:"lost,omitempty"`
	Series int      `json:"series,omitempty"`
}

// AppendTo appends the block as bytes, without Rest.
func (b *Block) AppendTo(dst []byte) ([]byte, error) {
	names := b.Names
	for i := range names { // JSON has no other bytes than those of UTF-8; names are characters
		if names[i].Name == "" {
			return dst, errors.New("a block with a name that is empty")
		}
	}
	head, err := json.Marshal(blockHead{b.Trees, names, b.Notes, b.Lost, len(b.Series)})
	if err != nil {
		return dst, err
	}
	w := writer{dst}
	w.bytes(head)
	for i := range b.Series {
		w.series(&b.Series[i])
	}
	return w.b, nil
}

// A writer appends values.
type writer struct{ b []byte }

func (w *writer) number(n int)   { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) signed(n int64) { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) bytes(b []byte) {
	w.number(len(b))
	w.b = append(w.b, b...)
}

func (w *writer) text(s string) {
	w.number(len(s))
	w.b = append(w.b, s...)
}

// many appends documents.
func (w *writer) many(list [][]byte) {
	w.number(len(list))
	for _, one := range list {
		w.bytes(one)
	}
}

// columns appends times, as distances, and as many values.
func (w *writer) columns(times []int64, values []float64) {
	w.number(len(times))
	before := int64(0)
	for _, t := range times {
		w.signed(t - before)
		before = t
	}
	for _, v := range values {
		w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v))
	}
}

func (w *writer) series(s *Series) {
	w.text(s.Name.Metric)
	w.number(len(s.Name.Tags))
	for _, tag := range s.Name.Tags {
		w.text(tag.Key)
		w.text(tag.Value)
	}
	w.bytes(s.Document)
	w.columns(s.Times, s.Values)
	w.number(len(s.Integers))
	for _, i := range s.Integers {
		w.signed(i.Time)
		w.signed(i.Value)
	}
	w.number(len(s.Objects))
	for i := range s.Objects {
		w.signed(s.Objects[i].Time)
		w.number(int(s.Objects[i].Kind)<<1 | flag(s.Objects[i].Millis))
		w.bytes(s.Objects[i].Data)
	}
	w.many(s.Notes)
	w.number(len(s.Slots))
	for i := range s.Slots {
		w.number(int(s.Slots[i].Step))
		w.columns(s.Slots[i].Times, s.Slots[i].Values)
	}
	w.number(len(s.Rolled))
	for i := range s.Rolled {
		w.rolled(&s.Rolled[i])
	}
}

func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (w *writer) rolled(r *Rolled) {
	w.text(r.Interval)
	w.text(r.Aggregation)
	w.number(flag(r.Group))
	w.signed(r.Time)
	w.number(int(r.Value.Flags))
	w.b = binary.LittleEndian.AppendUint64(w.b, r.Value.Bits)
}

// ParseBlock reads a block of bytes, which it keeps parts of. An error is a storage.ErrInvalid.
func ParseBlock(b []byte) (*Block, error) {
	r := reader{b: b}
	var head blockHead
	if err := json.Unmarshal(r.bytes(), &head); err != nil || r.bad || head.Series < 0 || head.Series > len(r.b) {
		return nil, fmt.Errorf("%w: a block of a copy has no head", storage.ErrInvalid)
	}
	block := &Block{Trees: head.Trees, Names: head.Names, Notes: head.Notes, Lost: head.Lost}
	for range head.Series {
		block.Series = append(block.Series, r.series())
		if r.bad {
			break
		}
	}
	if r.bad || len(r.b) > 0 {
		return nil, fmt.Errorf("%w: a block of a copy has other bytes than its head tells", storage.ErrInvalid)
	}
	return block, nil
}

// A reader cuts values off bytes. After a bad one all are empty.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) unsigned() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count reads a number of things of which each takes so many bytes at least.
func (r *reader) count(size int) int {
	n := r.unsigned()
	if n > uint64(len(r.b)/size) {
		r.fail()
		return 0
	}
	return int(n) //nolint:gosec // it was compared
}

// small reads a number up to a bound.
func (r *reader) small(most uint64) uint64 {
	n := r.unsigned()
	if n > most {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) bits() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	n := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return n
}

func (r *reader) many() (list [][]byte) {
	for range r.count(1) {
		list = append(list, r.bytes())
	}
	return list
}

func (r *reader) columns() (times []int64, values []float64) {
	n := r.count(9) // a distance and a value
	if n == 0 {
		return nil, nil
	}
	times, values = make([]int64, n), make([]float64, n)
	before := int64(0)
	for i := range times {
		before += r.signed()
		times[i] = before
	}
	for i := range values {
		values[i] = math.Float64frombits(r.bits())
	}
	return times, values
}

func (r *reader) series() (s Series) {
	s.Name.Metric = r.text()
	for range r.count(2) {
		s.Name.Tags = append(s.Name.Tags, storage.Tag{Key: r.text(), Value: r.text()})
	}
	s.Document = r.bytes()
	s.Times, s.Values = r.columns()
	for range r.count(2) {
		s.Integers = append(s.Integers, storage.Integer{Time: r.signed(), Value: r.signed()})
	}
	for range r.count(3) {
		o := storage.Object{Time: r.signed()}
		kind := r.small(math.MaxUint8<<1 | 1)
		o.Kind, o.Millis, o.Data = storage.Kind(kind>>1), kind&1 == 1, r.bytes()
		s.Objects = append(s.Objects, o)
	}
	s.Notes = r.many()
	for range r.count(2) {
		slots := storage.ArchiveSlots{Step: uint32(r.small(math.MaxUint32))}
		slots.Times, slots.Values = r.columns()
		s.Slots = append(s.Slots, slots)
	}
	for range r.count(13) {
		s.Rolled = append(s.Rolled, r.rolled())
	}
	return s
}

func (r *reader) rolled() (v Rolled) {
	v.Interval, v.Aggregation, v.Group, v.Time = r.text(), r.text(), r.small(1) == 1, r.signed()
	flags := byte(r.small(math.MaxUint8))
	v.Value = schema.Point{Flags: flags, Bits: r.bits()}
	return v
}

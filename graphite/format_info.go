package graphite

import (
	"cmp"
	"encoding/binary"
	"math"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pickle"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// The formats pickle and msgpack hold what graphite-web's servers tell each other of a series: its name,
// start, end, step, values and how it is consolidated.

// An infoEncoder writes values in one of the formats.
type infoEncoder interface {
	list(j *jsonWriter, n int)
	object(j *jsonWriter, n int)
	text(j *jsonWriter, text string)
	int(j *jsonWriter, n int64)
	float(j *jsonWriter, v float64) // NaN is none
	bool(j *jsonWriter, v bool)
	endList(j *jsonWriter, n int)
	endObject(j *jsonWriter)
}

func writeInfo(j *jsonWriter, e infoEncoder, list []*series.Series) {
	e.list(j, len(list))
	for _, s := range list {
		e.object(j, 9)
		key := func(name string) { e.text(j, name) }
		key("name")
		e.text(j, textName(s))
		key("start")
		e.int(j, s.Start)
		key("end")
		e.int(j, s.End)
		key("step")
		e.int(j, s.Step)
		key("values")
		e.list(j, len(s.Values))
		for _, v := range s.Values {
			j.next()
			e.float(j, v)
		}
		e.endList(j, len(s.Values))
		key("pathExpression")
		e.text(j, s.PathExpression)
		key("valuesPerPoint")
		e.int(j, 1)
		key("consolidationFunc")
		e.text(j, cmp.Or(s.ConsolidationFunc, "average"))
		key("xFilesFactor")
		e.float(j, s.XFilesFactor)
		e.endObject(j)
	}
	e.endList(j, len(list))
}

// writePickle writes a pickle of protocol 2, which every Python reads.
func writePickle(j *jsonWriter, list []*series.Series, _ *time.Location) {
	j.buf = append(j.buf, pickle.Begin...)
	writeInfo(j, pickleEncoder{}, list)
	j.buf = append(j.buf, pickle.End...)
}

// pickleEncoder writes Python's opcodes.
type pickleEncoder struct{}

func (pickleEncoder) list(j *jsonWriter, n int) {
	if j.buf = append(j.buf, ']'); n > 0 {
		j.buf = append(j.buf, '(')
	}
}

func (pickleEncoder) endList(j *jsonWriter, n int) {
	if n > 0 {
		j.buf = append(j.buf, 'e')
	}
}

func (pickleEncoder) object(j *jsonWriter, _ int) { j.buf = append(j.buf, '}', '(') }

func (pickleEncoder) endObject(j *jsonWriter) { j.buf = append(j.buf, 'u') }

func (pickleEncoder) text(j *jsonWriter, text string) {
	j.buf = pickle.AppendText(j.buf, text)
}

func (pickleEncoder) int(j *jsonWriter, n int64) {
	j.buf = pickle.AppendInt(j.buf, n)
}

func (pickleEncoder) float(j *jsonWriter, v float64) {
	if math.IsNaN(v) {
		j.buf = append(j.buf, 'N')
		return
	}
	j.buf = pickle.AppendFloat(j.buf, v)
}

func (pickleEncoder) bool(j *jsonWriter, v bool) {
	if v {
		j.buf = append(j.buf, 0x88)
	} else {
		j.buf = append(j.buf, 0x89)
	}
}

// writeMsgpack writes MessagePack.
func writeMsgpack(j *jsonWriter, list []*series.Series, _ *time.Location) {
	writeInfo(j, msgpackEncoder{}, list)
}

// msgpackEncoder writes MessagePack's types; lengths take the short forms only where every writer does.
type msgpackEncoder struct{}

func (msgpackEncoder) list(j *jsonWriter, n int) {
	if n < 16 {
		j.buf = append(j.buf, 0x90|byte(n))
		return
	}
	j.buf = binary.BigEndian.AppendUint32(append(j.buf, 0xdd), uint32(n)) //nolint:gosec // bounded by the limits of a query
}

func (msgpackEncoder) endList(*jsonWriter, int) {}

func (msgpackEncoder) object(j *jsonWriter, n int) { j.buf = append(j.buf, 0x80|byte(n)) }

func (msgpackEncoder) endObject(*jsonWriter) {}

func (msgpackEncoder) text(j *jsonWriter, text string) {
	if len(text) < 32 {
		j.buf = append(j.buf, 0xa0|byte(len(text)))
	} else {
		j.buf = binary.BigEndian.AppendUint32(append(j.buf, 0xdb), uint32(len(text))) //nolint:gosec // names are short
	}
	j.text(text)
}

func (msgpackEncoder) int(j *jsonWriter, n int64) {
	j.buf = binary.BigEndian.AppendUint64(append(j.buf, 0xd3), uint64(n))
}

func (msgpackEncoder) float(j *jsonWriter, v float64) {
	if math.IsNaN(v) {
		j.buf = append(j.buf, 0xc0)
		return
	}
	j.buf = binary.BigEndian.AppendUint64(append(j.buf, 0xcb), math.Float64bits(v))
}

func (msgpackEncoder) bool(j *jsonWriter, v bool) {
	if v {
		j.buf = append(j.buf, 0xc3)
	} else {
		j.buf = append(j.buf, 0xc2)
	}
}

package formats

import (
	"cmp"
	"encoding/binary"
	"math"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pickle"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// The formats pickle and msgpack hold what graphite-web's servers tell each other of a series: its name,
// start, end, step, values and how it is consolidated.

// An Encoder writes values in one of the formats.
type Encoder interface {
	List(j *pyjson.Writer, n int)
	Object(j *pyjson.Writer, n int)
	Text(j *pyjson.Writer, text string)
	int(j *pyjson.Writer, n int64)
	Float(j *pyjson.Writer, v float64) // NaN is none
	Bool(j *pyjson.Writer, v bool)
	EndList(j *pyjson.Writer, n int)
	EndObject(j *pyjson.Writer)
}

func writeInfo(j *pyjson.Writer, e Encoder, list []*series.Series) {
	e.List(j, len(list))
	for _, s := range list {
		e.Object(j, 9)
		key := func(name string) { e.Text(j, name) }
		key("name")
		e.Text(j, TextName(s))
		key("start")
		e.int(j, s.Start)
		key("end")
		e.int(j, s.End)
		key("step")
		e.int(j, s.Step)
		key("values")
		e.List(j, len(s.Values))
		for _, v := range s.Values {
			j.Next()
			e.Float(j, v)
		}
		e.EndList(j, len(s.Values))
		key("pathExpression")
		e.Text(j, s.PathExpression)
		key("valuesPerPoint")
		e.int(j, 1)
		key("consolidationFunc")
		e.Text(j, cmp.Or(s.ConsolidationFunc, "average"))
		key("xFilesFactor")
		e.Float(j, s.XFilesFactor)
		e.EndObject(j)
	}
	e.EndList(j, len(list))
}

// writePickle writes a pickle of protocol 2, which every Python reads.
func writePickle(j *pyjson.Writer, list []*series.Series, _ *time.Location) {
	j.Buf = append(j.Buf, pickle.Begin...)
	writeInfo(j, pickleEncoder{}, list)
	j.Buf = append(j.Buf, pickle.End...)
}

// Pickle returns an encoder of pickles.
func Pickle() Encoder { return pickleEncoder{} }

// pickleEncoder writes Python's opcodes.
type pickleEncoder struct{}

func (pickleEncoder) List(j *pyjson.Writer, n int) {
	if j.Buf = append(j.Buf, ']'); n > 0 {
		j.Buf = append(j.Buf, '(')
	}
}

func (pickleEncoder) EndList(j *pyjson.Writer, n int) {
	if n > 0 {
		j.Buf = append(j.Buf, 'e')
	}
}

func (pickleEncoder) Object(j *pyjson.Writer, _ int) { j.Buf = append(j.Buf, '}', '(') }

func (pickleEncoder) EndObject(j *pyjson.Writer) { j.Buf = append(j.Buf, 'u') }

func (pickleEncoder) Text(j *pyjson.Writer, text string) {
	j.Buf = pickle.AppendText(j.Buf, text)
}

func (pickleEncoder) int(j *pyjson.Writer, n int64) {
	j.Buf = pickle.AppendInt(j.Buf, n)
}

func (pickleEncoder) Float(j *pyjson.Writer, v float64) {
	if math.IsNaN(v) {
		j.Buf = append(j.Buf, 'N')
		return
	}
	j.Buf = pickle.AppendFloat(j.Buf, v)
}

func (pickleEncoder) Bool(j *pyjson.Writer, v bool) {
	if v {
		j.Buf = append(j.Buf, 0x88)
	} else {
		j.Buf = append(j.Buf, 0x89)
	}
}

// writeMsgpack writes MessagePack.
func writeMsgpack(j *pyjson.Writer, list []*series.Series, _ *time.Location) {
	writeInfo(j, msgpackEncoder{}, list)
}

// Msgpack returns an encoder of MessagePack.
func Msgpack() Encoder { return msgpackEncoder{} }

// msgpackEncoder writes MessagePack's types; lengths take the short forms only where every writer does.
type msgpackEncoder struct{}

func (msgpackEncoder) List(j *pyjson.Writer, n int) {
	if n < 16 {
		j.Buf = append(j.Buf, 0x90|byte(n))
		return
	}
	j.Buf = binary.BigEndian.AppendUint32(append(j.Buf, 0xdd), uint32(n)) //nolint:gosec // bounded by the limits of a query
}

func (msgpackEncoder) EndList(*pyjson.Writer, int) {}

func (msgpackEncoder) Object(j *pyjson.Writer, n int) { j.Buf = append(j.Buf, 0x80|byte(n)) }

func (msgpackEncoder) EndObject(*pyjson.Writer) {}

func (msgpackEncoder) Text(j *pyjson.Writer, text string) {
	if len(text) < 32 {
		j.Buf = append(j.Buf, 0xa0|byte(len(text)))
	} else {
		j.Buf = binary.BigEndian.AppendUint32(append(j.Buf, 0xdb), uint32(len(text))) //nolint:gosec // names are short
	}
	j.Text(text)
}

func (msgpackEncoder) int(j *pyjson.Writer, n int64) {
	j.Buf = binary.BigEndian.AppendUint64(append(j.Buf, 0xd3), uint64(n))
}

func (msgpackEncoder) Float(j *pyjson.Writer, v float64) {
	if math.IsNaN(v) {
		j.Buf = append(j.Buf, 0xc0)
		return
	}
	j.Buf = binary.BigEndian.AppendUint64(append(j.Buf, 0xcb), math.Float64bits(v))
}

func (msgpackEncoder) Bool(j *pyjson.Writer, v bool) {
	if v {
		j.Buf = append(j.Buf, 0xc3)
	} else {
		j.Buf = append(j.Buf, 0xc2)
	}
}

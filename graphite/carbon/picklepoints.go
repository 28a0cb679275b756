package carbon

import (
	"bytes"
	"math"
	"sync"

	"github.com/tsdbridge/tsdbridge/graphite/pickle"
)

// pickleParser reads frames of carbon's pickle protocol: a list or a tuple of (name, (time, value)).
// Its rules are those of MetricPickleReceiver of carbon 1.1.10.
type pickleParser struct {
	rows     sync.Pool // of *pickle.Rows
	decoders sync.Pool // of *pickle.Decoder
}

// keptDecoder is how many bytes of memory a decoder may have and be used again.
const keptDecoder = 8 << 20

func newPickleParser() *pickleParser {
	return &pickleParser{
		rows:     sync.Pool{New: func() any { return new(pickle.Rows) }},
		decoders: sync.Pool{New: func() any { return new(pickle.Decoder) }},
	}
}

// parse adds the points of a frame to it. What carbon's relays send is read as rows, all else by way of values.
func (p *pickleParser) parse(f *frame, now int64, refuse func(Reason, []byte)) Reason {
	if p.parseRows(f, now, refuse) {
		return 0
	}
	f.empty()
	return p.parseValues(f, now, refuse)
}

// parseRows returns false if the frame has something in it that is unusual; its points do not count then.
func (p *pickleParser) parseRows(f *frame, now int64, refuse func(Reason, []byte)) bool {
	rows := p.rows.Get().(*pickle.Rows)
	defer p.rows.Put(rows)
	nans := 0
	ok := rows.Read(f.bytes, func(name []byte, at, value float64) bool {
		if f.full() {
			return false
		}
		point, reason := newPoint(name, at, value, now)
		if reason == ReasonNaN {
			nans++
			return true
		}
		f.add(point)
		return reason == 0
	})
	for ; ok && nans > 0; nans-- {
		refuse(ReasonNaN, nil)
	}
	return ok
}

// parseValues reads any pickle.
func (p *pickleParser) parseValues(f *frame, now int64, refuse func(Reason, []byte)) Reason {
	if len(f.bytes) == 0 {
		return 0
	}
	d := p.decoders.Get().(*pickle.Decoder)
	defer func() {
		if d.Size() <= keptDecoder {
			p.decoders.Put(d)
		}
	}()
	all, err := d.Decode(f.bytes)
	if err != nil {
		return ReasonFrame
	}
	defer func() { f.text = d.TakeText(f.text) }() // names are there
	switch all.Kind() {
	case pickle.List, pickle.Tuple:
	case pickle.Text, pickle.Bytes, pickle.Dict: // Python goes through them, and finds nothing that is a point
		return ReasonShape
	default:
		return ReasonNoList
	}
	for _, item := range d.Items(all) {
		if f.full() {
			return ReasonFrame
		}
		if reason := addPickled(f, d, item, now, refuse); reason != 0 {
			return reason
		}
	}
	return 0
}

// addPickled adds an item of a pickle. A reason ends the frame.
func addPickled(f *frame, d *pickle.Decoder, item pickle.Value, now int64, refuse func(Reason, []byte)) Reason {
	pair := itemsOf(d, item)
	if len(pair) != 2 || len(itemsOf(d, pair[1])) != 2 {
		refuse(ReasonShape, nameOf(d, pair))
		return 0
	}
	numbers := itemsOf(d, pair[1])
	at, timeReason := pickledNumber(d, numbers[0], ReasonTimestamp)
	value, reason := pickledNumber(d, numbers[1], ReasonValue)
	if reason == 0 {
		reason = timeReason
	}
	if reason != 0 {
		refuse(reason, nameOf(d, pair))
		return 0
	}
	if pair[0].Kind() != pickle.Text {
		return ReasonName
	}
	name := d.Text(pair[0])
	point, reason := newPoint(name, at, value, now)
	switch {
	case reason.closes():
		return reason
	case reason != 0:
		refuse(reason, name)
		return 0
	}
	f.add(point)
	return 0
}

// itemsOf returns what a tuple or a list has in it.
func itemsOf(d *pickle.Decoder, v pickle.Value) []pickle.Value {
	if v.Kind() == pickle.Dict {
		return nil
	}
	return d.Items(v)
}

// nameOf returns the name of an item for the log, empty without one.
func nameOf(d *pickle.Decoder, pair []pickle.Value) []byte {
	if len(pair) == 0 || pair[0].Kind() != pickle.Text {
		return nil
	}
	return d.Text(pair[0])
}

// pickledNumber is Python's float().
func pickledNumber(d *pickle.Decoder, v pickle.Value, otherwise Reason) (float64, Reason) {
	switch v.Kind() {
	case pickle.Bool, pickle.Int, pickle.Float:
		return v.Number(), 0
	case pickle.Text, pickle.Bytes:
		if number, ok := parseFloat(bytes.TrimFunc(d.Text(v), IsSpace)); ok {
			return number, 0
		}
	}
	return 0, otherwise
}

// newPoint returns a point that came as numbers.
func newPoint(name []byte, at, value float64, now int64) (Point, Reason) {
	switch {
	case len(name) == 0:
		return Point{}, ReasonShape
	case math.IsNaN(value): // carbon looks at the value before it rounds the timestamp
		return Point{}, ReasonNaN
	}
	time, reason := wholeTime(at, now)
	return Point{Name: name, Time: time, Value: value}, reason
}

package query

import (
	"bufio"
	"io"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// WriteTo prints the answer in JSON, in the order of a TSD's fields.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	p := &printer{w: bufio.NewWriterSize(w, 64<<10), request: a.Request}
	if a.Globals != nil {
		p.globals = appendAnnotations([]byte(`,"globalAnnotations":`), a.Globals)
	}
	p.byte('[')
	for i := range a.Groups {
		if i > 0 {
			p.byte(',')
		}
		p.group(&a.Groups[i])
	}
	p.byte(']')
	return p.n, p.w.Flush()
}

// A printer prints an answer. The writer remembers the first error.
type printer struct {
	w       *bufio.Writer
	n       int64
	request *Request
	globals []byte // as they stand in every series
	scratch []byte
}

func (p *printer) byte(c byte) {
	_ = p.w.WriteByte(c)
	p.n++
}

func (p *printer) text(s string) {
	n, _ := p.w.WriteString(s)
	p.n += int64(n)
}

// value prints what needs no care for speed.
func (p *printer) value(v any) { p.text(string(marshal(v))) }

func (p *printer) group(g *Group) {
	p.text(`{"metric":`)
	p.value(g.Metric)
	p.text(`,"tags":{`)
	for i, tag := range g.Tags {
		if i > 0 {
			p.byte(',')
		}
		p.value(tag.Key)
		p.byte(':')
		p.value(tag.Value)
	}
	p.text(`},"aggregateTags":`)
	p.value(g.AggregatedTags)
	if p.request.ShowQuery {
		p.text(`,"query":`)
		p.value(p.request.Queries[g.query].echo(g.query))
	}
	if p.request.ShowTSUIDs {
		p.text(`,"tsuids":`)
		p.value(g.TSUIDs())
	}
	if g.Annotations != nil {
		p.text(string(appendAnnotations([]byte(`,"annotations":`), g.Annotations)))
	}
	p.text(string(p.globals))
	p.text(`,"dps":`)
	p.points(g)
	p.byte('}')
}

// points prints the points: an object, or an array of pairs. Milliseconds are cut off unless they
// were asked for, so that points of one second have equal keys.
func (p *printer) points(g *Group) {
	null := p.request.Queries[g.query].nullFill()
	arrays, millis := p.request.Arrays, p.request.MsResolution
	open, end := byte('{'), byte('}')
	if arrays {
		open, end = '[', ']'
	}
	p.byte(open)
	for i, t := range g.Points.Times {
		if !millis {
			t /= 1000
		}
		b := p.scratch[:0]
		if i > 0 {
			b = append(b, ',')
		}
		if arrays {
			b = append(strconv.AppendInt(append(b, '['), t, 10), ',')
		} else {
			b = append(strconv.AppendInt(append(b, '"'), t, 10), '"', ':')
		}
		b = appendPoint(b, &g.Points, i, null)
		if arrays {
			b = append(b, ']')
		}
		n, _ := p.w.Write(b)
		p.n, p.scratch = p.n+int64(n), b
	}
	p.byte(end)
}

// appendPoint prints the value of a point.
func appendPoint(b []byte, s *aggregate.Span, i int, null bool) []byte {
	switch v := s.Values[i]; {
	case s.IsLong != nil && s.IsLong[i]:
		return strconv.AppendInt(b, s.Longs[i], 10)
	case v != v && null:
		return append(b, "null"...)
	default:
		return AppendDouble(b, v)
	}
}

func (q *SubQuery) nullFill() bool {
	return q.downsampling != nil && q.downsampling.Fill == aggregate.FillNull
}

// marshal encodes strings, numbers, and lists and maps of them.
func marshal(v any) []byte {
	b, err := httpapi.Marshal(v)
	if err != nil {
		panic("opentsdb: encode answer: " + err.Error()) // of our own values
	}
	return b
}

package query

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// resultWriter writes answers as JSON, byte for byte as the module's codec does: matrices and vectors
// of floats part by part, in a tenth of the codec's time, every other answer by the codec.
type resultWriter struct {
	parts   *sync.Pool // of *jsonPart
	buffers *sync.Pool // of *[]byte
}

func newResultWriter() *resultWriter {
	return &resultWriter{&sync.Pool{New: func() any { return new(jsonPart) }}, &sync.Pool{New: func() any { return new([]byte) }}}
}

// respond writes a response with its header.
func (c *resultWriter) respond(w http.ResponseWriter, r *v1.Response) error {
	return c.write(r, func() io.Writer {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		return w
	}, func(err error) { http.Error(w, err.Error(), http.StatusInternalServerError) })
}

// write writes a response to what begin returns, or calls fail if it cannot be encoded.
func (c *resultWriter) write(r *v1.Response, begin func() io.Writer, fail func(error)) error {
	data, ok := r.Data.(*v1.QueryData)
	var write partWriter
	if ok && data.Stats == nil {
		write = c.parted(data.Result)
	}
	if write == nil {
		text, err := v1.JSONCodec{}.Encode(r)
		if err != nil {
			fail(err)
			return err
		}
		_, err = begin().Write(text)
		return err
	}
	w := begin()
	if err := write(w, []byte(`{"status":"success","data":{"resultType":"`+string(data.ResultType)+`","result":[`)); err != nil {
		return err
	}
	_, err := w.Write(afterAnswer(r))
	return err
}

// A partWriter writes the list of an answer part by part, after the text before it.
type partWriter func(w io.Writer, before []byte) error

// parted returns what writes a value part by part; nil: nothing does.
func (c *resultWriter) parted(value parser.Value) partWriter {
	switch v := value.(type) {
	case *resultcache.Answer:
		return func(w io.Writer, before []byte) error { return c.kept(w, before, v) }
	case promql.Matrix:
		if !slices.ContainsFunc(v, func(s promql.Series) bool { return len(s.Histograms) > 0 }) {
			return func(w io.Writer, before []byte) error { return c.items(w, before, matrixItems(v)) }
		}
	case promql.Vector:
		if !slices.ContainsFunc(v, func(s promql.Sample) bool { return s.H != nil }) {
			return func(w io.Writer, before []byte) error { return c.items(w, before, vectorItems(v)) }
		}
	}
	return nil
}

// afterAnswer returns the text after the list of a response.
func afterAnswer(r *v1.Response) []byte {
	notes := struct {
		Warnings []string `json:"warnings,omitempty"`
		Infos    []string `json:"infos,omitempty"`
	}{r.Warnings, r.Infos}
	text, _ := json.Marshal(notes) // texts can be marshalled
	if len(text) > len("{}") {
		return append([]byte("]},"), text[1:]...)
	}
	return []byte("]}}")
}

// answerPart is after how many bytes of an answer they are written.
const answerPart = 256 << 10

// kept writes the series of an answer that is kept.
func (c *resultWriter) kept(w io.Writer, before []byte, a *resultcache.Answer) error {
	buffer := c.buffers.Get().(*[]byte)
	defer c.buffers.Put(buffer)
	b, first := append((*buffer)[:0], before...), true
	for i := range a.Len() {
		begin := len(b)
		if !first {
			b = append(b, ',')
		}
		b = append(b, a.Head(i)...)
		head := len(b)
		if b = a.AppendPoints(b, i); len(b) == head {
			b = b[:begin]
			continue
		}
		first = false
		b = append(b[:len(b)-1], ']', '}') // in place of the last comma
		if len(b) >= answerPart {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	*buffer = b
	_, err := w.Write(b)
	return err
}

// items are what an answer lists.
type items interface {
	len() int
	points() int // in all
	pointsOf(i int) int
	append(p *jsonPart, i int)
}

// partPoints is how many points are worth another goroutine, and roundPoints how many each of them
// encodes before all are written.
const (
	partPoints  = 8 << 10
	roundPoints = 64 << 10
)

// items writes items, encoded on all cores.
func (c *resultWriter) items(w io.Writer, before []byte, list items) error {
	n := min(query.Shares(list.points(), partPoints), max(1, list.len()))
	parts := make([]*jsonPart, n)
	for i := range parts {
		parts[i] = c.parts.Get().(*jsonPart)
		parts[i].reset()
		defer func() { parts[i].release(c.parts) }()
	}
	parts[0].text = append(parts[0].text, before...)
	for from := 0; ; {
		to := roundEnd(list, from, n*roundPoints)
		query.Split(to-from, n, func(i, a, b int) { parts[i].write(list, from+a, from+b) })
		for _, p := range parts {
			if _, err := w.Write(p.text); err != nil {
				return err
			}
			p.text = p.text[:0]
		}
		if from = to; from == list.len() {
			return nil
		}
	}
}

// roundEnd returns the end of the items from one on that have so many points together, one at least.
func roundEnd(list items, from, points int) int {
	to := from
	for n := 0; to < list.len() && n < points; to++ {
		n += list.pointsOf(to)
	}
	return to
}

type matrixItems promql.Matrix

func (m matrixItems) len() int { return len(m) }

func (m matrixItems) points() (n int) {
	for i := range m {
		n += len(m[i].Floats)
	}
	return n
}

func (m matrixItems) pointsOf(i int) int { return len(m[i].Floats) + 1 }

func (m matrixItems) append(p *jsonPart, i int) { p.series(&m[i]) }

type vectorItems promql.Vector

func (v vectorItems) len() int { return len(v) }

func (v vectorItems) points() int { return len(v) }

func (vectorItems) pointsOf(int) int { return 1 }

func (v vectorItems) append(p *jsonPart, i int) { p.sample(&v[i]) }

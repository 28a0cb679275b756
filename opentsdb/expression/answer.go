package expression

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// An Answer is what /api/query/exp answers.
type Answer struct {
	Request *Request
	Outputs []Result
}

// A Result is a variable with its values.
type Result struct {
	ID          string
	Alias       *query.Text
	First, Last int64 // what a TSD shows as the first and the last instant

	table    *table
	subjects []subject
}

// Compute computes the outputs of a request; all expressions if it names none, and all metrics if there
// are no expressions. series are those of its sub queries, from and to their time. Errors are
// RequestErrors and those of the means.
func (r *Request) Compute(series [][]query.Series, from, to int64, means Means) (*Answer, error) {
	c, err := newComputation(r, series, means)
	if err != nil {
		return nil, err
	}
	a := &Answer{Request: r}
	shown := map[string]bool{}
	for _, o := range r.outputs() {
		id := string(orEmpty(o.ID))
		var out Result
		switch {
		case c.computed[id] != nil:
			out, err = c.ofExpression(c.computed[id], from, to, shown[id])
		case c.metrics[id] != nil:
			out, err = c.ofMetric(c.metrics[id])
		default:
			continue // as a TSD
		}
		if err != nil {
			return nil, err
		}
		out.ID, out.Alias, shown[id] = id, o.Alias, true
		a.Outputs = append(a.Outputs, out)
	}
	return a, nil
}

func (r *Request) outputs() (all []*Output) {
	switch {
	case len(r.Outputs) > 0:
		return r.Outputs
	case len(r.Expressions) > 0:
		for _, e := range r.Expressions {
			all = append(all, &Output{ID: &e.ID})
		}
	default:
		for _, m := range r.Metrics {
			all = append(all, &Output{ID: &m.ID})
		}
	}
	return all
}

// ofExpression shows an expression in the time of the request. As with a TSD it has values only when it
// is shown first, and the last instant is 0 if there is one only.
func (c *computation) ofExpression(e *computed, from, to int64, again bool) (Result, error) {
	all, err := c.compute(e)
	if err != nil {
		return Result{}, err
	}
	out := Result{table: &table{width: all.width}}
	for _, s := range e.series {
		out.subjects = append(out.subjects, s.subject)
	}
	if again {
		return out, nil
	}
	first, _ := slices.BinarySearch(all.times, from)
	last, found := slices.BinarySearch(all.times, to)
	if found {
		last++
	}
	if last = max(first, last); first == last {
		return out, nil
	}
	out.table = &table{all.times[first:last], all.values[first*all.width : last*all.width], all.width}
	if out.First = all.times[first]; last-first > 1 {
		out.Last = all.times[last-1]
	}
	return out, nil
}

// ofMetric shows a metric with all that was read. What is missing is 0, whatever the fill policy.
func (c *computation) ofMetric(m *measured) (Result, error) {
	source := newColumns(spansOf(m.series), 0)
	out := Result{First: source.next(), table: &table{width: len(m.series)}}
	for i := range m.series {
		out.subjects = append(out.subjects, subjectOfSeries(&m.series[i]))
		if out.First != never && m.series[i].Points.Len() == 0 {
			return out, refused("A series of variable %s has no values", m.ID)
		}
	}
	for since := pauseAfter; ; since += 1 + out.table.width {
		if since >= pauseAfter {
			if err := c.means.Pause(); err != nil {
				return out, err
			}
			since = 0
		}
		at := source.next()
		if at == never {
			return out, nil
		}
		if err := c.means.Take(int64(1+out.table.width) * valueBytes); err != nil {
			return out, err
		}
		now, err := source.step(at)
		if err != nil {
			return out, err
		}
		out.table.times, out.table.values = append(out.table.times, at), append(out.table.values, now...)
		out.Last = at
	}
}

// WriteTo prints the answer in JSON, in the order of a TSD's fields.
func (a *Answer) WriteTo(w io.Writer) (int64, error) {
	p := &printer{w: bufio.NewWriterSize(w, 64<<10)}
	p.text(`{"outputs":[`)
	for i := range a.Outputs {
		if i > 0 {
			p.text(",")
		}
		p.result(&a.Outputs[i])
	}
	p.text(`],"query":`)
	p.value(a.Request)
	p.text(`}`)
	return p.n, p.w.Flush()
}

// A printer prints an answer. The writer remembers the first error.
type printer struct {
	w       *bufio.Writer
	n       int64
	scratch []byte
}

func (p *printer) bytes(b []byte) {
	n, _ := p.w.Write(b)
	p.n += int64(n)
}

func (p *printer) text(s string) { p.bytes([]byte(s)) }

func (p *printer) value(v any) {
	b, err := httpapi.Marshal(v)
	if err != nil {
		panic("opentsdb: encode answer: " + err.Error()) // of our own values
	}
	p.bytes(b)
}

func (p *printer) number(n int64) { p.text(strconv.FormatInt(n, 10)) }

func (p *printer) result(r *Result) {
	p.text(`{"id":`)
	p.value(r.ID)
	if r.Alias != nil {
		p.text(`,"alias":`)
		p.value(r.Alias)
	}
	p.text(`,"dps":[`)
	for i, t := range r.table.times {
		p.row(i, t, r.table.row(i))
	}
	p.text(`],"dpsMeta":{"firstTimestamp":`)
	p.number(r.First)
	p.text(`,"lastTimestamp":`)
	p.number(r.Last)
	p.text(`,"setCount":`)
	p.number(int64(len(r.table.times)))
	p.text(`,"series":`)
	p.number(int64(r.table.width))
	p.text(`}`)
	if r.table.width > 0 {
		p.meta(r.subjects)
	}
	p.text(`}`)
}

func (p *printer) row(i int, t int64, values []float64) {
	b := p.scratch[:0]
	if i > 0 {
		b = append(b, ',')
	}
	b = strconv.AppendInt(append(b, '['), t, 10)
	for _, v := range values {
		b = query.AppendDouble(append(b, ','), v)
	}
	p.scratch = append(b, ']')
	p.bytes(p.scratch)
}

// meta prints what the columns are of. As with a TSD the metrics are those of the first one.
func (p *printer) meta(subjects []subject) {
	metrics := namesOf(subjects[0].metrics)
	slices.SortFunc(metrics, strings.Compare)
	p.text(`,"meta":[{"index":0,"metrics":["timestamp"]}`)
	for i, s := range subjects {
		tags := map[string]string{}
		for _, tag := range s.tags {
			tags[tag.Key.Name] = tag.Value.Name
		}
		p.text(`,{"index":`)
		p.number(int64(i + 1))
		p.text(`,"metrics":`)
		p.value(metrics)
		p.text(`,"commonTags":`)
		p.value(tags)
		p.text(`,"aggregatedTags":`)
		p.value(namesOf(s.aggregated))
		p.text(`}`)
	}
	p.text(`]`)
}

func namesOf(ids []query.ID) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.Name
	}
	return names
}

package eval

import (
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// hitcountFamily is hitcount alone.
func hitcountFamily() []Function {
	return []Function{{
		Name: "hitcount", Group: "Transform", Signature: "seriesList, intervalString, alignToInterval=False", call: hitcount, windows: hitcountWindows,
		Doc: "Takes values as rates per second and draws the number of hits in each interval.",
		Params: []Param{
			seriesParam("seriesList"), need("intervalString", typeInterval).suggest("10min", "1h", "1d"), with("alignToInterval", typeBoolean, false),
		},
	}}
}

func hitcount(c *call) ([]*series.Series, error) {
	list := c.series("seriesList")
	windows, err := hitcountWindows(c)
	if err != nil || c.err != nil {
		return nil, err
	}
	suffix := ""
	for _, w := range windows {
		suffix = ", true"
		if list, err = c.evaluate(w); err != nil {
			return nil, err
		}
		for s := range c.over(list) {
			interval := c.interval(list)
			s.End = s.Start + python.FloorDivide(s.End-s.Start, interval)*interval + interval
		}
	}
	interval := c.interval(list)
	if c.err != nil {
		return nil, nil
	}
	var out []*series.Series
	for s := range c.over(list) {
		shown := c.string("intervalString")
		start, values, err := hits(c, s, interval)
		if err != nil {
			return nil, err
		}
		s.Tags["hitcount"] = shown
		d := s.Derive("hitcount("+s.Name+`, "`+shown+`"`+suffix+")", values)
		d.Start, d.Step = start, interval
		out = append(out, d)
	}
	return out, nil
}

// hitcountWindows begins at a day, an hour or a minute, as the interval is at least as long.
func hitcountWindows(c *call) ([]window, error) {
	if !c.truth("alignToInterval") {
		return nil, nil
	}
	interval, w := c.offset("intervalString"), c.scope.window
	for _, u := range [...]timespec.Unit{timespec.Day, timespec.Hour, timespec.Minute} {
		if interval >= int64(u) {
			w.from -= python.Modulo(w.from+w.fromOffset, int64(u))
			break
		}
	}
	return []window{w}, nil
}

// hits spreads each value over the buckets that its slot touches. Buckets end where the series
// does.
func hits(c *call, s *series.Series, interval int64) (int64, []float64, error) {
	n := -python.FloorDivide(s.Start-s.End, interval)
	if n > maxMade {
		return 0, nil, python.Invalid("more than %d points", maxMade)
	}
	if !c.reserve(8 * max(n, 0)) {
		return 0, nil, c.err
	}
	b := &buckets{start: s.End - n*interval, interval: interval, values: make([]float64, max(n, 0))}
	for i := range b.values {
		b.values[i] = python.None()
	}
	for i, v := range s.Values {
		if python.IsNone(v) {
			continue
		}
		from := s.Start + int64(i)*s.Step
		if !c.tick(1 + int(min(s.Step/interval, maxMade))) {
			break
		}
		if err := b.spread(v, from, from+s.Step); err != nil {
			return 0, nil, err
		}
	}
	return b.start, b.values, nil
}

type buckets struct {
	start, interval int64
	values          []float64
}

// spread adds the hits of a rate between two times.
func (b *buckets) spread(v float64, from, to int64) error {
	first, firstRest := python.FloorDivide(from-b.start, b.interval), python.Modulo(from-b.start, b.interval)
	last, lastRest := python.FloorDivide(to-b.start, b.interval), python.Modulo(to-b.start, b.interval)
	n := int64(len(b.values))
	if last >= n {
		last, lastRest = n-1, b.interval
	}
	if first >= n || last < -n {
		return python.Crash("a point lies behind the end of its series")
	}
	if first == last {
		if first >= 0 {
			b.add(first, v*float64(lastRest-firstRest))
		}
		return nil
	}
	if first >= 0 {
		b.add(first, v*float64(b.interval-firstRest))
	}
	for i := first + 1; i < last; i++ {
		b.add(i, v*float64(b.interval))
	}
	if lastRest > 0 {
		b.add(last, v*float64(lastRest))
	}
	return nil
}

// add takes negative buckets for those at the end, as Python's indexes do.
func (b *buckets) add(i int64, hits float64) {
	if i < 0 {
		i += int64(len(b.values))
	}
	if i < 0 || i >= int64(len(b.values)) {
		return
	}
	if python.IsNone(b.values[i]) {
		b.values[i] = 0
	}
	b.values[i] += float64(hits)
}

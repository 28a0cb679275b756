package functions

import (
	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// hitcountFamily is hitcount alone.
func hitcountFamily() []call.Function {
	return []call.Function{{
		Name: "hitcount", Group: "Transform", Signature: "seriesList, intervalString, alignToInterval=False", Call: hitcount, Windows: hitcountWindows,
		Doc: "Takes values as rates per second and draws the number of hits in each interval.",
		Params: []call.Param{
			seriesParam("seriesList"), need("intervalString", call.TypeInterval).Suggesting("10min", "1h", "1d"), with("alignToInterval", call.TypeBoolean, false),
		},
	}}
}

func hitcount(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	windows, err := hitcountWindows(c)
	if err != nil || c.Err != nil {
		return nil, err
	}
	suffix := ""
	for _, w := range windows {
		suffix = ", true"
		if list, err = c.Evaluate(w); err != nil {
			return nil, err
		}
		for s := range c.Over(list) {
			interval := c.Interval(list)
			s.End = s.Start + python.FloorDivide(s.End-s.Start, interval)*interval + interval
		}
	}
	interval := c.Interval(list)
	if c.Err != nil {
		return nil, nil
	}
	var out []*series.Series
	for s := range c.Over(list) {
		shown := c.Text("intervalString")
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
func hitcountWindows(c *call.Call) ([]call.Window, error) {
	if !c.Truth("alignToInterval") {
		return nil, nil
	}
	interval, w := c.Offset("intervalString"), c.Scope.Window
	for _, u := range [...]timespec.Unit{timespec.Day, timespec.Hour, timespec.Minute} {
		if interval >= int64(u) {
			w.From -= python.Modulo(w.From+w.FromOffset, int64(u))
			break
		}
	}
	return []call.Window{w}, nil
}

// hits spreads each value over the buckets that its slot touches. Buckets end where the series
// does.
func hits(c *call.Call, s *series.Series, interval int64) (int64, []float64, error) {
	n := -python.FloorDivide(s.Start-s.End, interval)
	if n > maxMade {
		return 0, nil, python.Invalid("more than %d points", maxMade)
	}
	if !c.Reserve(8 * max(n, 0)) {
		return 0, nil, c.Err
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
		if !c.Tick(1 + int(min(s.Step/interval, maxMade))) {
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

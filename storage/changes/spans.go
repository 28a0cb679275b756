package changes

import "slices"

// A Span is a time in which any points may have changed, in milliseconds, both included.
type Span struct{ From, To int64 }

// spans are in the order of their moments.
type spans []struct {
	moment uint64
	Span
}

// mostSpans is how many spans are kept. Beyond it all of them become one that has all of them.
const mostSpans = 256

// note adds a span.
func (s *spans) note(moment uint64, from, to int64) {
	list := *s
	if n := len(list); n > 0 && list[n-1].From == from && list[n-1].To == to {
		list[n-1].moment = moment
		return
	}
	if len(list) == mostSpans {
		for _, one := range list {
			from, to = min(from, one.From), max(to, one.To)
		}
		list = list[:0]
	}
	*s = append(list, struct {
		moment uint64
		Span
	}{moment, Span{from, to}})
}

// since returns the spans that were noted at a moment or later.
func (s spans) since(moment uint64) (list []Span) {
	for _, one := range s {
		if one.moment >= moment {
			list = append(list, one.Span)
		}
	}
	return list
}

// forget removes the spans before a moment.
func (s *spans) forget(moment uint64) {
	*s = slices.DeleteFunc(*s, func(one struct {
		moment uint64
		Span
	},
	) bool {
		return one.moment < moment
	})
}

// Details are what has changed since a reading began.
type Details struct {
	Recent  int64            // the first time of a point of any metric that came when it was recent; math.MaxInt64: none
	Metrics map[string]int64 // the first times of other points, by the UIDs of metrics
	Spans   []Span           // of deletions, and of what else changes points of any metric
	Renamed bool             // series may have got other names
}

// Details returns what has changed since the reading began; ok is false if it has ended.
func (r *Reading) Details() (d Details, ok bool) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.readings[r]; !open {
		return d, false
	}
	d = Details{Recent: l.recent.since(r.moment), Metrics: map[string]int64{}, Spans: l.spans.since(r.moment), Renamed: l.renamed >= r.moment}
	for uid, m := range l.metrics {
		if t := m.since(r.moment); t < d.Recent {
			d.Metrics[uid] = t
		}
	}
	return d, true
}

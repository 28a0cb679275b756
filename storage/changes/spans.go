package changes

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// spans are in the order of their moments.
type spans []struct {
	moment uint64
	storage.Span
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
		storage.Span
	}{moment, storage.Span{From: from, To: to}})
}

// since returns the spans that were noted at a moment or later.
func (s spans) since(moment uint64) (list []storage.Span) {
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
		storage.Span
	},
	) bool {
		return one.moment < moment
	})
}

// Details returns what has changed since the reading began; ok is false if it has ended.
func (r *Reading) Details() (d storage.Changes, ok bool) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.readings[r]; !open {
		return d, false
	}
	d = storage.Changes{Recent: l.recent.since(r.moment), Metrics: map[string]int64{}, Spans: l.spans.since(r.moment), Renamed: l.renamed >= r.moment}
	for uid, m := range l.metrics {
		if t := m.since(r.moment); t < d.Recent {
			d.Metrics[uid] = t
		}
	}
	return d, true
}

package changes

import "math"

// A Reading is what somebody has read and keeps.
type Reading struct {
	log      *Log
	from, to int64 // milliseconds, both included
	moment   uint64
}

// Read begins a reading of points between two times, both included, in milliseconds. It must be
// called before anything is read. End ends it when nothing is kept any more.
func (l *Log) Read(from, to int64) *Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moment++
	r := &Reading{log: l, from: from, to: to, moment: l.moment}
	l.readings[r] = struct{}{}
	l.from.Store(min(l.from.Load(), from))
	l.to.Store(max(l.to.Load(), to))
	return r
}

// Changed returns a time before which no points of the reading have changed since it began, in
// milliseconds; math.MaxInt64: none have changed at all. Metrics count whose UID is wanted. Points
// whose append or deletion has not returned yet may count or not.
func (r *Reading) Changed(wanted func(uid string) bool) int64 {
	first, metrics := r.changed()
	for uid, t := range metrics {
		if t < first && wanted(uid) {
			first = t
		}
	}
	if first > r.to {
		return math.MaxInt64
	}
	return first
}

// changed returns the first time that changed for all metrics, and earlier times of some, by UID.
func (r *Reading) changed() (all int64, metrics map[string]int64) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.readings[r]; !open {
		return r.from, nil
	}
	all, metrics = l.all.since(r.moment), map[string]int64{}
	for uid, m := range l.metrics {
		if t := m.since(r.moment); t < all {
			metrics[uid] = t
		}
	}
	return all, metrics
}

// End ends the reading.
func (r *Reading) End() {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.readings, r)
	l.watchLess()
}

// watchLess watches what the readings have left to watch. It needs mu.
func (l *Log) watchLess() {
	from, to, oldest := int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64)
	for r := range l.readings {
		from, to, oldest = min(from, r.from), max(to, r.to), min(oldest, r.moment)
	}
	l.from.Store(from)
	l.to.Store(to)
	l.all.forget(oldest)
	l.recent.forget(oldest)
	l.spans.forget(oldest)
	for uid, m := range l.metrics {
		if m.forget(oldest); len(m) == 0 {
			delete(l.metrics, uid)
		} else {
			l.metrics[uid] = m
		}
	}
}

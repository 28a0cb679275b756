package query

import "time"

// What a unit costs is not known in the beginning: firstPrice nanoseconds, as if it had been seen for
// firstUnits.
const (
	firstUnits = 1 << 18
	firstPrice = 50
)

// What units cost is learned from requests of leastLearnt units or more: the time of others is not
// that of their units. About learnt units are remembered, which are some seconds of work.
const (
	leastLearnt = 1 << 14
	learnt      = 1 << 26
)

// A price is what a unit costs, as the requests of late have shown.
type price struct {
	each  float64 // nanoseconds
	units float64 // from which it was learned
	spent float64
}

// learn remembers what units have cost.
func (p *price) learn(units, used int64) {
	p.units += float64(units)
	p.spent += float64(used)
	p.each = p.spent / p.units
	if p.units > learnt {
		p.spent, p.units = p.each*learnt/2, learnt/2
	}
}

// of returns what units will cost.
func (p *price) of(units int64) time.Duration { return time.Duration(float64(units) * p.each) }

// Work is what reading and evaluating points costs, in units of Expect: for each series its points
// and as much as some points more.
func Work(series int, points int64) int64 {
	const perSeries, most = 16, 1 << 40
	return int64(series) * (min(max(points, 0), most/int64(max(1, series))) + perSeries)
}

// Expect tells of work that the request is about to do, before it takes memory for it. What a unit
// costs is measured. It reports whether the request is large and has to wait for others: then the
// caller should give back what it holds, and Yield waits.
func (t *Turn) Expect(units int64) (waits bool) {
	if t == nil || units <= 0 || t.request.place.Load() >= needsNone {
		return false
	}
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	r := t.request
	r.units += units
	r.expected.Store(max(r.expected.Load(), r.used.Load()) + int64(s.price.of(units)))
	return level(r.cost()) >= largeLevel && !s.takePlace(r)
}

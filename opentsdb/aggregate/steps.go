package aggregate

import "time"

// steps are the beginnings of intervals.
type steps interface {
	// floor returns the beginning of the interval that contains a time, ceil the first beginning
	// that is not before it.
	floor(t int64) int64
	ceil(t int64) int64
	// next returns the beginning after one.
	next(begin int64) int64
	// toward returns a beginning from where point i of the span lies before the interval's end,
	// or the given one if there is no such point.
	toward(begin int64, s Span, i int) int64
}

// steps returns those of the downsampling.
func (d *Downsampling) steps(_ Range) (steps, error) {
	if !d.Calendar {
		return evenSteps(d.Interval), nil
	}
	n, unit, err := calendarUnits(d.text)
	if err != nil {
		return nil, err
	}
	return newCalendar(n, unit, d.Zone), nil
}

// evenSteps begin at multiples of a number of milliseconds.
type evenSteps int64

func (e evenSteps) floor(t int64) int64    { return t - t%int64(e) }
func (e evenSteps) ceil(t int64) int64     { return e.floor(t + int64(e) - 1) }
func (e evenSteps) next(begin int64) int64 { return begin + int64(e) }

func (e evenSteps) toward(begin int64, s Span, i int) int64 {
	if i < s.Len() {
		return e.floor(s.Times[i])
	}
	return begin
}

// A calendar has steps of a number of units in a time zone. Where they begin depends on the time
// that they are asked for, as with a TSD: months and years count from the first of January of that
// time's year, days from the first of its month, weeks from its Sunday.
type calendar struct {
	n    int
	unit string
	zone *time.Location
}

func newCalendar(n int, unit string, zone *time.Location) calendar {
	if zone == nil {
		zone = time.UTC
	}
	return calendar{n, unit, zone}
}

func (c calendar) toward(begin int64, s Span, i int) int64 {
	if i == s.Len() {
		return begin
	}
	return c.advance(begin, s.Times[i], c.n)
}

// advance goes from a beginning in steps of n units to the last one that is not after t.
func (c calendar) advance(begin, t int64, n int) int64 {
	if step := c.instant() * int64(n); step > 0 && begin <= t {
		return t - (t-begin)%step
	}
	for {
		next := c.add(begin, n)
		if next > t {
			return begin
		}
		begin = next
	}
}

func (c calendar) ceil(t int64) int64 {
	begin := c.floor(t)
	if begin < t {
		return c.next(begin)
	}
	return begin
}

func (c calendar) next(begin int64) int64 { return c.add(begin, c.n) }

// instant returns the milliseconds of a unit that is added to an instant, 0 for one of dates.
func (c calendar) instant() int64 {
	switch c.unit {
	case "ms":
		return 1
	case "s":
		return 1000
	case "m":
		return 60_000
	case "h":
		return 3600_000
	}
	return 0
}

// add adds so many units to a time.
func (c calendar) add(t int64, n int) int64 {
	if unit := c.instant(); unit > 0 {
		return t + int64(n)*unit
	}
	at := time.UnixMilli(t).In(c.zone)
	switch c.unit {
	case "d":
		at = at.AddDate(0, 0, n)
	case "w":
		at = at.AddDate(0, 0, 7*n)
	case "n":
		at = at.AddDate(0, n, 0)
	default:
		at = at.AddDate(n, 0, 0)
	}
	return at.UnixMilli()
}

// floor begins at a date that depends on the unit and goes from there in steps to the last one
// that is not after t.
func (c calendar) floor(t int64) int64 {
	begin, step := c.origin(t), c.n
	if c.unit == "w" {
		step = 1
	}
	if begin > t {
		return c.add(begin, -step)
	}
	return c.advance(begin, t, step)
}

// origin returns where counting begins. Units that divide the next greater one count from its
// beginning, others from the beginning of the one after it.
func (c calendar) origin(t int64) int64 {
	at := time.UnixMilli(t).In(c.zone)
	year, month, day := at.Date()
	hour, minute, second := at.Clock()
	divides := func(whole int) bool { return whole%c.n == 0 }
	date := func(month time.Month, day, hour, minute, second int) int64 {
		return time.Date(year, month, day, hour, minute, second, 0, c.zone).UnixMilli()
	}
	switch {
	case c.unit == "ms" && divides(1000):
		return date(month, day, hour, minute, second)
	case c.unit == "ms", c.unit == "s" && divides(60):
		return date(month, day, hour, minute, 0)
	case c.unit == "s", c.unit == "m" && divides(60):
		return date(month, day, hour, 0, 0)
	case c.unit == "m", c.unit == "h" && divides(24):
		return date(month, day, 0, 0, 0)
	case c.unit == "h", c.unit == "d" && c.n == 1:
		return date(month, 1, 0, 0, 0)
	case c.unit == "w":
		return date(month, day-int(at.Weekday()), 0, 0, 0)
	}
	return date(time.January, 1, 0, 0, 0)
}

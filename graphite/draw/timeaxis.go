package draw

import "time"

// A timeStep is the units between lines or labels of the time axis.
type timeStep struct {
	unit  int64 // seconds
	count float64
}

const (
	second = 1
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// timeAxis says how the time axis looks where a pixel is at least so many seconds and the picture spans
// no more than most.
type timeAxis struct {
	seconds      float64 // of a pixel
	minor, major timeStep
	label        timeStep
	format       string
	most         int64 // seconds; 0: any
}

// timeAxes are those of graphite-web, which has them from rrdtool.
func timeAxes() []timeAxis {
	step := func(unit int64, count float64) timeStep { return timeStep{unit, count} }
	const clock, date = "%H:%M", "%m/%d"
	return []timeAxis{
		{0, step(second, 5), step(minute, 1), step(second, 5), "%H:%M:%S", 10 * minute},
		{0.07, step(second, 10), step(minute, 1), step(second, 10), "%H:%M:%S", 20 * minute},
		{0.14, step(second, 15), step(minute, 1), step(second, 15), "%H:%M:%S", 30 * minute},
		{0.27, step(second, 30), step(minute, 2), step(minute, 1), clock, 2 * hour},
		{0.5, step(minute, 1), step(minute, 2), step(minute, 1), clock, 2 * hour},
		{1.2, step(minute, 1), step(minute, 4), step(minute, 2), clock, 3 * hour},
		{2, step(minute, 1), step(minute, 10), step(minute, 5), clock, 6 * hour},
		{5, step(minute, 2), step(minute, 10), step(minute, 10), clock, 12 * hour},
		{10, step(minute, 5), step(minute, 20), step(minute, 20), clock, day},
		{30, step(minute, 10), step(hour, 1), step(hour, 1), clock, 2 * day},
		{60, step(minute, 30), step(hour, 2), step(hour, 2), clock, 2 * day},
		{100, step(hour, 2), step(hour, 4), step(hour, 4), "%a %H:%M", 6 * day},
		{255, step(hour, 6), step(hour, 12), step(hour, 12), date + " %H:%M", 10 * day},
		{600, step(hour, 6), step(day, 1), step(day, 1), date, 14 * day},
		{1000, step(hour, 12), step(day, 1), step(day, 1), date, 365 * day},
		{2000, step(day, 1), step(day, 2), step(day, 2), date, 365 * day},
		{4000, step(day, 2), step(day, 4), step(day, 4), date, 365 * day},
		{8000, step(day, 3.5), step(day, 7), step(day, 7), date, 365 * day},
		{16000, step(day, 7), step(day, 14), step(day, 14), date, 365 * day},
		{32000, step(day, 15), step(day, 30), step(day, 30), date, 365 * day},
		{64000, step(day, 30), step(day, 60), step(day, 60), date + " %Y", 0},
		{100000, step(day, 60), step(day, 120), step(day, 120), date + " %Y", 0},
		{120000, step(day, 120), step(day, 240), step(day, 240), date + " %Y", 0},
	}
}

// chooseTimeAxis returns the axis for a span of seconds that is so many pixels wide.
func chooseTimeAxis(span int64, width float64) timeAxis {
	all := timeAxes()
	chosen := all[len(all)-1]
	for _, a := range all {
		if a.seconds <= float64(span)/width && (a.most == 0 || a.most >= span) {
			chosen = a
		}
	}
	return chosen
}

// mostMarks bounds the lines of a time axis.
const mostMarks = 20_000

// times yields the round times from start to end, which is exclusive. Days begin at midnight of the zone.
func (s timeStep) times(start, end int64, zone *time.Location) func(yield func(time.Time) bool) {
	from := time.Unix(start, 0).In(zone)
	at := s.floor(from)
	days := 0.0
	midnight := at
	next := func() {
		if s.unit != day {
			at = at.Add(time.Duration(s.count * float64(s.unit) * float64(time.Second)))
			return
		}
		days += s.count
		whole := int(days)
		at = midnight.AddDate(0, 0, whole).Add(time.Duration((days - float64(whole)) * day * float64(time.Second)))
	}
	return func(yield func(time.Time) bool) {
		for n := 0; n < mostMarks && at.Unix() < end; n++ {
			if at.Unix() >= start && !yield(at) {
				return
			}
			next()
		}
	}
}

// floor returns the last round time that is not after t, by the clock of its zone.
func (s timeStep) floor(t time.Time) time.Time {
	down := func(n int) int { return n - n%max(int(s.count), 1) }
	year, month, date := t.Date()
	switch s.unit {
	case second:
		return t.Add(time.Duration(down(t.Second())-t.Second()) * time.Second)
	case minute:
		return t.Add(-time.Duration(t.Second()) * time.Second).Add(time.Duration(down(t.Minute())-t.Minute()) * time.Minute)
	case hour:
		return t.Add(-time.Duration(t.Second()) * time.Second).Add(-time.Duration(t.Minute()) * time.Minute).Add(time.Duration(down(t.Hour())-t.Hour()) * time.Hour)
	}
	return time.Date(year, month, date, 0, 0, 0, 0, t.Location())
}

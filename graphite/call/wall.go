package call

import "time"

// WallFrom is Python's time.mktime(t.timetuple()) of the start of a window: the time that the clock of the request's zone
// shows, taken for the server's. graphite-web takes it for the time itself in functions that draw times or count from one.
func (c *Call) WallFrom(w Window) int64 {
	return mktime(w.From+w.FromOffset, w.fromSaves, c.Scope.Request.ServerZone())
}

// WallUntil is that of the end.
func (c *Call) WallUntil(w Window) int64 {
	return mktime(w.Until+w.UntilOffset, w.untilSaves, c.Scope.Request.ServerZone())
}

// mktime returns the second at which a clock in a zone shows what shown is in UTC. Where shown is in daylight saving time
// and the zone is not then, or the other way round, the C library takes the hour of the zone for it.
func mktime(shown int64, saves bool, zone *time.Location) int64 {
	t := time.Unix(shown, 0).UTC()
	there := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
	switch {
	case saves == there.IsDST():
		return there.Unix()
	case saves:
		return there.Unix() - saving(there)
	}
	return there.Unix() + saving(there)
}

// saving is how many seconds clocks are put forward in the zone of t, an hour where they are not.
func saving(t time.Time) int64 {
	_, offset := t.Zone()
	for months := range 12 {
		for _, near := range []time.Time{t.AddDate(0, months, 0), t.AddDate(0, -months, 0)} {
			if _, other := near.Zone(); near.IsDST() != t.IsDST() {
				return int64(max(offset-other, other-offset))
			}
		}
	}
	return 3600
}

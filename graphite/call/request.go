package call

import (
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
)

// Request is what a render request contains in addition to its targets. Times are epoch seconds.
type Request struct {
	From, Until int64
	// Now is what storage takes for the present; 0 means Clock.
	Now int64
	// Clock is the time on the wall, which some functions use even when Now is another. 0 means
	// Now.
	Clock int64
	// Zone is the request's zone, Local the server's, which some functions use instead; nil means
	// UTC.
	Zone, Local *time.Location
	// XFilesFactor is the default for aggregates and consolidation.
	XFilesFactor float64
	// Template holds values for template(), by name.
	Template map[string]string
	// UTF8Metrics is for targets that functions make up; see expr.Parser.
	UTF8Metrics bool
	Limits      Limits
}

// Limits bound what a request may cost; 0 means no limit.
type Limits struct {
	// Series and Points bound what is fetched and made, over the whole request.
	Series, Points int
}

func (r *Request) parser() expr.Parser { return expr.Parser{UTF8Metrics: r.UTF8Metrics} }

// InZone returns the zone of the request.
func (r *Request) InZone() *time.Location { return orUTC(r.Zone) }

// ServerZone returns the zone of the server.
func (r *Request) ServerZone() *time.Location { return orUTC(r.Local) }

// ServerTime returns a time in the zone of the server.
func (r *Request) ServerTime(unix int64) time.Time { return time.Unix(unix, 0).In(r.ServerZone()) }

func orUTC(l *time.Location) *time.Location {
	if l == nil {
		return time.UTC
	}
	return l
}

// WallClock returns the time on the wall.
func (r *Request) WallClock() time.Time {
	if r.Clock != 0 {
		return time.Unix(r.Clock, 0)
	}
	return time.Unix(r.Now, 0)
}

// Window is the time range in which a part of a target is computed, with the zone offsets of its
// ends: Python's datetimes keep the offset they were made with, also when they are moved over a
// change of zone.
type Window struct {
	From, Until             int64
	FromOffset, UntilOffset int64
	// fromSaves and untilSaves tell whether these offsets are those of daylight saving time.
	fromSaves, untilSaves bool
}

func (r *Request) window() Window {
	from, until := time.Unix(r.From, 0).In(r.InZone()), time.Unix(r.Until, 0).In(r.InZone())
	_, fromOffset := from.Zone()
	_, untilOffset := until.Zone()
	return Window{r.From, r.Until, int64(fromOffset), int64(untilOffset), from.IsDST(), until.IsDST()}
}

// Moved returns the window, both ends moved.
func (w Window) Moved(from, until int64) Window {
	w.From += from
	w.Until += until
	return w
}

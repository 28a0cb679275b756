package aggregate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Downsampling makes one point of those of an interval.
type Downsampling struct {
	// Interval is its length in milliseconds: 0 if All. Months have 30 days, years 365.
	Interval int64
	// All makes one interval of the whole query.
	All bool
	// Calendar begins intervals where they begin in Zone's calendar.
	Calendar bool
	Zone     *time.Location
	Function Aggregator
	Fill     Fill

	text string // of the interval
}

// ParseDownsampling reads interval-function[-fill], as 1m-avg, 1dc-sum-nan or 0all-max. Errors are
// in a TSD's words.
func ParseDownsampling(text string) (*Downsampling, error) {
	parts := strings.Split(text, "-")
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1] // as Java's split does
	}
	switch {
	case len(parts) < 2:
		return nil, fmt.Errorf("Invalid downsampling specifier '%s': must provide at least interval and function", text)
	case len(parts) > 3:
		return nil, fmt.Errorf("Invalid downsampling specifier '%s': must consist of interval, function, and optional fill policy", text)
	}
	d := &Downsampling{Zone: time.UTC}
	if err := d.parseInterval(parts[0]); err != nil {
		return nil, err
	}
	var ok bool
	if d.Function, ok = Get(parts[1]); !ok {
		return nil, fmt.Errorf("No such downsampling function: %s", parts[1])
	}
	if parts[1] == None {
		return nil, errors.New("cannot use the NONE aggregator for downsampling")
	}
	if len(parts) == 3 {
		var err error
		if d.Fill, err = ParseFill(parts[2]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *Downsampling) parseInterval(text string) (err error) {
	switch d.text = text; {
	case text == "":
		return errors.New("Index -1 out of bounds for length 0")
	case strings.Contains(text, "all"):
		d.All = true
		return nil
	case strings.HasSuffix(text, "c"):
		d.Calendar, d.text = true, text[:len(text)-1]
	}
	d.Interval, err = ParseDuration(d.text)
	return err
}

// Sums reports whether it adds what is in an interval, as the one downsampling of histograms does.
func (d *Downsampling) Sums() bool { return d.Function.Name == "sum" }

// ErrFill means that values cannot be filled so, which a TSD answers with an error.
var ErrFill = errors.New("unhandled fill policy")

// A Range is the times of a query in milliseconds. A TSD reads whole hours around what is asked
// for: from ScanStart until before ScanEnd.
type Range struct{ Start, End, ScanStart, ScanEnd int64 }

// hour is what a row of the table covers, in seconds.
const hour = 3600

// NewRange returns the range of a query with a downsampling, which may be nil.
func NewRange(start, end int64, d *Downsampling) Range {
	interval := int64(0)
	if d != nil {
		interval = d.Interval
	}
	return Range{start, end, scanStart(start, interval) * 1000, scanEnd(end, interval) * 1000}
}

// seconds are those of a time. A TSD takes small numbers of milliseconds for seconds.
func seconds(time int64) (s int64, wereMillis bool) {
	if time>>32 != 0 {
		return time / 1000, true
	}
	return time, false
}

// Seconds returns the seconds that the range begins and ends in; of an end in milliseconds the one after
// it.
func (r Range) Seconds() (start, end int64) {
	start, _ = seconds(r.Start)
	end, wereMillis := seconds(r.End)
	if wereMillis {
		end++
	}
	return start, end
}

func scanStart(start, interval int64) int64 {
	at, _ := seconds(start)
	if interval > 0 {
		at -= 1000 * at % interval / 1000
	}
	return max(0, at-at%hour)
}

func scanEnd(end, interval int64) int64 {
	at, wereMillis := seconds(end)
	if wereMillis {
		at++
	}
	if interval == 0 {
		return at + hour - at%hour
	}
	at += (interval - 1000*at%interval) / 1000
	if over := at % hour; over != 0 {
		at += hour - over
	}
	return at
}

// apply downsamples the points of a series, which are those of the whole range that is scanned.
func (d *Downsampling) apply(s Span, r Range, room *Room) (Span, error) {
	if d.All {
		return d.whole(s, r, room), nil
	}
	return d.even(r, func(g steps) Span { return d.buckets(s.from(firstWhole(s, g, r)), g, room) })
}

// firstWhole returns the first point of the first whole interval.
func firstWhole(s Span, g steps, r Range) int {
	from, _ := slices.BinarySearch(s.Times, g.ceil(r.ScanStart))
	return from
}

// even adds the intervals without points to those that have some, where they are to be filled.
func (d *Downsampling) even(r Range, buckets func(steps) Span) (Span, error) {
	if d.Fill == FillScalar {
		return Span{}, ErrFill
	}
	steps, err := d.steps(r)
	if err != nil {
		return Span{}, err
	}
	out := buckets(steps)
	if d.Fill == FillNone {
		return out, nil
	}
	return d.fill(out, steps, r)
}

// whole makes one point of those from the start of the query to before its end, stamped Start.
func (d *Downsampling) whole(s Span, r Range, room *Room) (out Span) {
	from, _ := slices.BinarySearch(s.Times, r.Start)
	to, _ := slices.BinarySearch(s.Times, r.End)
	if from < to {
		out = room.take(1)
		out.Add(r.Start, d.Function.doubles(s.Values[from:to]))
		room.keep(&out)
	}
	return out
}

// buckets makes a point of each interval that has points.
func (d *Downsampling) buckets(s Span, g steps, room *Room) (out Span) {
	if s.Len() == 0 {
		return out
	}
	if even, ok := g.(evenSteps); ok {
		return d.evenBuckets(s, int64(even), room)
	}
	begin := g.floor(s.Times[0])
	for i := 0; i < s.Len(); {
		end := g.next(begin)
		j := i
		for j < s.Len() && s.Times[j] < end {
			j++
		}
		if j > i {
			out.Add(begin, d.Function.doubles(s.Values[i:j]))
		}
		i = j
		begin = g.toward(end, s, i)
	}
	return out
}

// evenBuckets is buckets for those of one length.
func (d *Downsampling) evenBuckets(s Span, length int64, room *Room) Span {
	first, last := s.Times[0], s.Times[s.Len()-1]
	out := room.take(int(min(int64(s.Len()), (last-first)/length+2)))
	begin := first - first%length
	for i := 0; i < s.Len(); {
		if t := s.Times[i]; t >= begin+length {
			if begin += length; t >= begin+length { // mostly the interval after the last one has points
				begin = t - t%length
			}
		}
		j := i + 1
		for j < s.Len() && s.Times[j] < begin+length {
			j++
		}
		out.Times, out.Values = append(out.Times, begin), append(out.Values, d.Function.doubles(s.Values[i:j]))
		i = j
	}
	room.keep(&out)
	return out
}

// maxFilled bounds the intervals that one series is filled to.
const maxFilled = 50_000_000

// ErrTooManyIntervals means that a query would be filled to more intervals than are computed.
var ErrTooManyIntervals = errors.New("the query has too many intervals to fill: use longer ones, a shorter time, or no fill policy")

// fill adds the intervals without points.
func (d *Downsampling) fill(s Span, g steps, r Range) (out Span, err error) {
	if (r.ScanEnd-r.ScanStart)/d.Interval > maxFilled {
		return out, ErrTooManyIntervals
	}
	empty := math.NaN()
	if d.Fill == FillZero {
		empty = 0
	}
	begin, end := g.floor(r.ScanStart), g.floor(r.ScanEnd)
	if d.Calendar && begin == end {
		end = g.next(end)
	}
	for i := 0; begin < end; begin = g.next(begin) {
		for i < s.Len() && s.Times[i] < begin {
			i++
		}
		if i < s.Len() && s.Times[i] == begin {
			out.Add(begin, s.Values[i])
		} else {
			out.Add(begin, empty)
		}
	}
	return out, nil
}

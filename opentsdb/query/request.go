package query

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A Request is what /api/query is asked.
type Request struct {
	Start, End, Timezone string
	// DefaultZone is that of dates without a Timezone; nil: UTC.
	DefaultZone *time.Location

	Padding, NoAnnotations, GlobalAnnotations, MsResolution bool
	ShowTSUIDs, ShowSummary, ShowStats, ShowQuery           bool
	Delete, UseCalendar                                     bool
	Arrays                                                  bool // of the URL: points as pairs

	Queries []SubQuery

	start, end int64 // milliseconds, after Check
}

// A SubQuery asks for the series of one metric, or for some by their TSUIDs.
type SubQuery struct {
	Aggregator   string
	Metric       string
	TSUIDs       []string
	Downsample   string
	Rate         bool
	RateOptions  *aggregate.RateOptions
	Filters      []Filter
	ExplicitTags bool
	PreAggregate bool
	RollupUsage  string
	Percentiles  []float32
	ShowBuckets  bool

	readFrom source        // after the answer is computed
	keyUIDs  [][]byte      // of the tags that filters name, after the answer is computed
	meant    []storage.Ref // if the request deletes: of all series that it means, after the answer is computed

	// after Check
	downsampling *aggregate.Downsampling
	aggregator   aggregate.Aggregator
}

// MaxQueries bounds the sub queries of a request.
const MaxQueries = 1000

// add adds a sub query, unless an equal one is there.
func (r *Request) add(q SubQuery) {
	for i := range r.Queries {
		if reflect.DeepEqual(r.Queries[i], q) {
			return
		}
	}
	r.Queries = append(r.Queries, q)
}

// addFilter adds a filter. One that groups by joins an equal one that does not.
func (q *SubQuery) addFilter(f Filter) {
	for i, have := range q.Filters {
		if f.GroupBy && have.TagKey == f.TagKey && have.Type == f.Type && have.Text == f.Text {
			q.Filters[i].GroupBy = true
			return
		}
	}
	q.Filters = append(q.Filters, f)
}

// Interval returns the longest interval of downsampling of a request that was checked, 0 without.
func (r *Request) Interval() time.Duration {
	longest := time.Duration(0)
	for _, q := range r.Queries {
		if q.downsampling != nil {
			longest = max(longest, time.Duration(q.downsampling.Interval)*time.Millisecond)
		}
	}
	return longest
}

// Times returns the first and the last millisecond that a request asks for, after Check.
func (r *Request) Times() (start, end int64) { return r.start, r.end }

// Check checks everything that needs no store, and resolves times: those relative to now. Errors
// are RequestErrors and SyntaxErrors.
func (r *Request) Check(now time.Time) error { return refused(r.check(now)) }

func (r *Request) check(now time.Time) error {
	if r.Start == "" {
		return errors.New("Missing start time")
	}
	zone, zoneErr := r.zone()
	if zoneErr != nil {
		zone = time.UTC
	}
	var err error
	if r.start, err = r.time(r.Start, zone, zoneErr, now); err != nil {
		return err
	}
	r.end = now.UnixMilli()
	if r.End != "" {
		if r.end, err = r.time(r.End, zone, zoneErr, now); err != nil {
			return err
		}
	}
	switch {
	case r.end <= r.start:
		return fmt.Errorf("End time [%d] must be greater than the start time [%d]", r.end, r.start)
	case len(r.Queries) == 0:
		return errors.New("Missing queries")
	case len(r.Queries) > MaxQueries:
		return fmt.Errorf("A request may have at most %d queries", MaxQueries)
	case r.start < 0:
		return SyntaxError{fmt.Errorf("Invalid timestamp: %d", r.start)}
	}
	for i := range r.Queries {
		if err := r.Queries[i].check(); err != nil {
			return err
		}
		if d := r.Queries[i].downsampling; d != nil {
			if zoneErr != nil {
				return errors.New("The timezone specification could not be found")
			}
			d.Zone = r.calendar(zone)
			d.Calendar = d.Calendar || r.UseCalendar
		}
	}
	return nil
}

// time reads one; only a date needs the zone.
func (r *Request) time(s string, zone *time.Location, zoneErr error, now time.Time) (int64, error) {
	t, err := ParseTime(s, zone, now)
	if err == nil && zoneErr != nil && IsDate(s) {
		return 0, fmt.Errorf("Invalid timezone name: %s", r.Timezone)
	}
	return t, err
}

func (r *Request) zone() (*time.Location, error) {
	switch {
	case r.Timezone != "":
		return ParseZone(r.Timezone)
	case r.DefaultZone != nil:
		return r.DefaultZone, nil
	}
	return time.UTC, nil
}

// calendar is the zone of days and months: that of the request, else UTC, whatever that of dates is.
func (r *Request) calendar(zone *time.Location) *time.Location {
	if r.Timezone == "" {
		return time.UTC
	}
	return zone
}

func (q *SubQuery) check() (err error) {
	if q.Aggregator == "" {
		return errors.New("Missing the aggregation function")
	}
	var ok bool
	if q.aggregator, ok = aggregate.Get(q.Aggregator); !ok {
		return fmt.Errorf("No such aggregation function: %s", q.Aggregator)
	}
	if q.Metric == "" && len(q.TSUIDs) == 0 {
		return errors.New("Missing the metric or tsuids, provide at least one")
	}
	if q.Downsample != "" {
		if q.downsampling, err = aggregate.ParseDownsampling(q.Downsample); err != nil {
			return err
		}
	}
	slices.Sort(q.Percentiles)
	return q.checkHistograms()
}

// plan returns what is computed of the series.
func (q *SubQuery) plan(r *Request) *aggregate.Plan {
	p := &aggregate.Plan{Range: aggregate.NewRange(r.start, r.end, q.downsampling), Downsampling: q.downsampling, Aggregator: q.aggregator}
	if q.Rate {
		options := aggregate.DefaultRateOptions()
		if q.RateOptions != nil {
			options = *q.RateOptions
		}
		p.Rate = &options
	}
	return p
}

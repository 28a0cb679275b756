package query

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A LastRequest asks for the newest points of series.
type LastRequest struct {
	Queries []LastQuery
	// ResolveNames shows metric and tags.
	ResolveNames bool
	// BackScan is how many hours before now to look for a point. Without it the newest point may be of
	// the last day, or if series are named by their TSUIDs, of this hour.
	BackScan int
}

// A LastQuery names series: one by its metric and all its tags, those that have a metric and tags, or
// some by their TSUIDs.
type LastQuery struct {
	Metric string
	Tags   map[string]string
	TSUIDs []string
}

// maxBackScan bounds how many hours are looked at: ten years.
const maxBackScan = 10 * 366 * 24

// ParseLast reads a request from the parameters of a URL.
func ParseLast(v url.Values) (*LastRequest, error) {
	r := &LastRequest{ResolveNames: v.Has("resolve")}
	if v.Has("back_scan") {
		var err error
		if r.BackScan, err = strconv.Atoi(v.Get("back_scan")); err != nil {
			return nil, RequestError{"Unable to parse back_scan parameter"}
		}
	}
	for _, s := range v["timeseries"] {
		q, err := parseLastSeries(s)
		if err != nil {
			return nil, SyntaxError{err} // a TSD's status
		}
		r.Queries = append(r.Queries, q)
	}
	for _, s := range v["tsuids"] {
		r.Queries = append(r.Queries, LastQuery{TSUIDs: strings.Split(s, ",")})
	}
	return r, r.check()
}

// parseLastSeries reads metric{key=value,…}, where a value is a name whatever it looks like.
func parseLastSeries(s string) (LastQuery, error) {
	named, err := ParseSeriesName(s)
	q := LastQuery{Metric: named.Metric, Tags: map[string]string{}}
	for _, t := range named.Tags {
		q.Tags[t.Key] = t.Value
	}
	return q, err
}

// ParseLastJSON reads a request from a body, which may have no other fields.
func ParseLastJSON(body []byte) (*LastRequest, error) {
	r := &LastRequest{}
	if err := jackson.Read(body, r.reader()); err != nil {
		return nil, RequestError{"Unable to parse the given JSON: " + err.Error()}
	}
	return r, r.check()
}

// reader reads LastPointQuery of OpenTSDB 2.4.1.
func (r *LastRequest) reader() jackson.Reader {
	return jackson.Strict(jackson.Fields{
		"queries":      jackson.List(&r.Queries, (*LastQuery).reader),
		"resolveNames": jackson.Bool(&r.ResolveNames), "backScan": jackson.Int(&r.BackScan),
	})
}

// reader reads LastPointSubQuery.
func (q *LastQuery) reader() jackson.Reader {
	return jackson.Strict(jackson.Fields{"metric": jackson.Text(&q.Metric), "tags": q.readTags, "tsuids": jackson.List(&q.TSUIDs, jackson.Text[string])})
}

// readTags reads the tags. null as a value is a name that nothing has.
func (q *LastQuery) readTags(s *jackson.Scanner) error {
	var tags map[string]*string
	err := jackson.Texts(&tags)(s)
	q.Tags = make(map[string]string, len(tags))
	for key, value := range tags {
		if q.Tags[key] = ""; value != nil {
			q.Tags[key] = *value
		}
	}
	return err
}

func (r *LastRequest) check() error {
	switch {
	case len(r.Queries) == 0:
		return RequestError{"Missing sub queries"}
	case len(r.Queries) > MaxQueries:
		return RequestError{"Too many sub queries"}
	}
	r.BackScan = min(r.BackScan, maxBackScan)
	return nil
}

// A LastPoint is the newest point of a series.
type LastPoint struct {
	Named
	Time  int64 // milliseconds
	Value string
}

// Last returns the newest point of each series that has one.
func (e *Engine) Last(ctx context.Context, r *LastRequest) ([]LastPoint, error) {
	out, known := []LastPoint{}, map[string][]LastPoint{}
	for i := range r.Queries {
		q := &r.Queries[i]
		if points, ok := known[q.key()]; ok {
			out = append(out, points...)
			continue
		}
		start, end := e.lastRange(r, q)
		members, err := e.lastSeries(ctx, r, q, start, end)
		if err != nil {
			return nil, err
		}
		points, err := e.newest(ctx, members, start, end)
		if err != nil {
			return nil, err
		}
		for i := range points {
			if err := storage.LostName(&points[i].Series); err != nil && r.ResolveNames {
				return nil, err
			}
		}
		out, known[q.key()] = append(out, points...), points
	}
	return out, nil
}

// key returns all that the answer to a sub query depends on, in addition to its request.
func (q *LastQuery) key() string { return fmt.Sprintf("%q %q %q", q.Metric, q.Tags, q.TSUIDs) }

// lastRange returns the times between which the newest point is looked for, in milliseconds.
func (e *Engine) lastRange(r *LastRequest, q *LastQuery) (start, end int64) {
	now := e.o.Now()
	begin := now.Truncate(time.Hour)
	switch {
	case r.BackScan > 0:
		begin = begin.Add(-time.Duration(r.BackScan) * time.Hour)
	case len(q.TSUIDs) == 0:
		begin = begin.Add(-24 * time.Hour)
	}
	return begin.UnixMilli(), now.Truncate(time.Hour).Add(time.Hour).UnixMilli() - 1
}

func (e *Engine) lastSeries(ctx context.Context, r *LastRequest, q *LastQuery, start, end int64) ([]member, error) {
	if len(q.TSUIDs) > 0 {
		found, err := e.findTSUIDs(ctx, &SubQuery{TSUIDs: q.TSUIDs})
		return e.ordered(found), err
	}
	if r.BackScan > 0 && len(q.Tags) == 0 {
		return nil, RequestError{"Tags cannot be null or empty when getting a TSUID"}
	}
	if err := e.known(ctx, storage.MetricName, "metrics", q.Metric); err != nil {
		return nil, err
	}
	filters := []storage.Filter{{Values: []string{q.Metric}}}
	for _, key := range sortedKeys(q.Tags) {
		if err := errors.Join(e.known(ctx, storage.TagKeyName, "tagk", key), e.known(ctx, storage.TagValueName, "tagv", q.Tags[key])); err != nil {
			return nil, err
		}
		filters = append(filters, storage.Filter{Keys: []string{key}, Values: []string{q.Tags[key]}})
	}
	found, err := e.o.Catalog.FindLost(ctx, filters, start, end, e.o.MaxSeries)
	if err != nil {
		return nil, err
	}
	members := e.ordered(found)
	if r.BackScan == 0 {
		return members, nil
	}
	var exact []member
	for _, m := range members {
		if len(m.Tags) == len(q.Tags) {
			exact = append(exact, m)
		}
	}
	return exact, nil
}

// newest reads the newest point of each series, and then that point alone as what it was written.
func (e *Engine) newest(ctx context.Context, members []member, start, end int64) ([]LastPoint, error) {
	refs := make([]storage.Ref, len(members))
	of := make(map[storage.Ref]member, len(members))
	for i, m := range members {
		refs[i], of[m.Ref] = m.Ref, m
	}
	times, err := e.newestTimes(ctx, refs, start, end)
	if err != nil {
		return nil, err
	}
	var out []LastPoint
	for _, ref := range refs {
		at, ok := times[ref]
		if !ok {
			continue
		}
		for p, err := range e.o.Store.Select(ctx, storage.Query{Refs: []storage.Ref{ref}, Start: at, End: at, Samples: true, Integers: true}) {
			if err != nil {
				return nil, err
			}
			if len(p.Times) > 0 {
				span := spanOf(&p)
				out = append(out, LastPoint{Named{of[ref].tsuid, of[ref].Series}, at, lastValue(&span)})
			}
		}
	}
	return out, nil
}

// newestScan is how far back Newest looks.
const newestScan = 24 * time.Hour

// Newest returns the times of the newest points of series, in milliseconds, as far as they are of the
// last day; else 0.
func (e *Engine) Newest(ctx context.Context, tsuids [][]byte) ([]int64, error) {
	times := make([]int64, len(tsuids))
	refs, err := e.o.Catalog.Refs(tsuids)
	if err != nil || len(refs) == 0 {
		return times, err
	}
	at := make(map[storage.Ref]int, len(refs))
	for i, ref := range refs {
		at[ref] = i
	}
	hour := e.o.Now().Truncate(time.Hour)
	newest, err := e.newestTimes(ctx, refs, hour.Add(time.Hour-newestScan).UnixMilli(), hour.Add(time.Hour).UnixMilli()-1)
	for ref, time := range newest {
		times[at[ref]] = time
	}
	return times, err
}

// newestTimes returns the times of the newest points of series that have one between two times, in milliseconds.
func (e *Engine) newestTimes(ctx context.Context, refs []storage.Ref, start, end int64) (map[storage.Ref]int64, error) {
	times := make(map[storage.Ref]int64, len(refs))
	var behind []storage.Ref // series whose newest sample is none for OpenTSDB
	q := storage.Query{Refs: refs, Start: start, End: end, Samples: true, Newest: true, MaxSamples: e.o.MaxPoints}
	for p, err := range e.o.Store.Select(ctx, q) {
		if err != nil {
			return times, err
		}
		if len(p.Times) == 0 {
			continue
		}
		if span := spanOf(&p); span.Len() > 0 {
			times[p.Ref] = span.Times[span.Len()-1]
		} else {
			behind = append(behind, p.Ref)
		}
	}
	if len(behind) == 0 {
		return times, nil
	}
	q.Refs, q.Newest = behind, false
	for p, err := range e.o.Store.Select(ctx, q) {
		if err != nil {
			return times, err
		}
		if span := spanOf(&p); span.Len() > 0 {
			times[p.Ref] = span.Times[span.Len()-1]
		}
	}
	return times, nil
}

func lastValue(s *aggregate.Span) string {
	return strings.Trim(string(appendPoint(nil, s, 0, false)), `"`)
}

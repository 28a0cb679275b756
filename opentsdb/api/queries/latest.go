package queries

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A LatestQuery asks for the last points of a query at an instant.
type LatestQuery struct {
	M      string // the parameter m= of /api/query
	Client string // who asks
	At     time.Time
	// Window is how long before the instant a point may be; with a longer downsampling it is two of its
	// intervals.
	Window time.Duration
}

// A LatestPoint is the last point of a group of a query.
type LatestPoint struct {
	Series storage.Series // the metric and the tags that are equal in the group
	Time   int64          // milliseconds since 1970
	Value  float64
}

// CheckM reports what is wrong with a parameter m=.
func CheckM(text string) error {
	_, err := latestRequest(LatestQuery{M: text, At: time.Unix(1<<30, 0), Window: time.Minute}, time.Unix(1<<30, 0))
	return err
}

// latestRequest returns the request over the window.
func latestRequest(q LatestQuery, now time.Time) (*query.Request, error) {
	r, err := requestOver(q, q.Window, now)
	if err != nil {
		return nil, err
	}
	if interval := r.Interval(); 2*interval > q.Window {
		return requestOver(q, 2*interval, now)
	}
	return r, nil
}

func requestOver(q LatestQuery, window time.Duration, now time.Time) (*query.Request, error) {
	r, err := query.ParseParameters(url.Values{
		"m": {q.M}, "start": {millis(q.At.Add(-window))}, "end": {millis(q.At)},
		"ms": {""}, "no_annotations": {"true"},
	}, onlyMetrics)
	if err != nil {
		return nil, err
	}
	return r, r.Check(now)
}

// millis writes a time with 13 digits, because fewer may be seconds.
func millis(t time.Time) string { return fmt.Sprintf("%013d", max(t.UnixMilli(), 0)) }

// Latest computes a query within the limits of /api/query and returns the last point of each group that
// has one in the window. What it takes is in the account of ctx.
func (a *API) Latest(ctx context.Context, q LatestQuery) ([]LatestPoint, error) {
	if q.At.UnixMilli() <= 0 {
		return nil, nil // nothing is older than 1970
	}
	if a.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.o.Timeout)
		defer cancel()
	}
	parsed, err := latestRequest(q, a.o.Now())
	if err != nil {
		return nil, err
	}
	var answer *query.Answer
	err = a.evaluator.Compute(ctx, q.Client, q.M, func(ctx context.Context) (err error) {
		answer, err = a.o.Engine.Answer(ctx, parsed)
		return err
	})
	var unknown query.UnknownNameError
	switch {
	case errors.As(err, &unknown): // it was never sent
		return nil, nil
	case err != nil:
		return nil, err
	}
	return latestPoints(answer, q), nil
}

func latestPoints(answer *query.Answer, q LatestQuery) (points []LatestPoint) {
	for _, g := range answer.Groups {
		for i := g.Points.Len() - 1; i >= 0; i-- {
			at, v := g.Points.Times[i], g.Points.Values[i]
			if at <= q.At.UnixMilli() && !math.IsNaN(v) {
				points = append(points, LatestPoint{storage.Series{Metric: g.Metric, Tags: g.Tags}, at, v})
				break
			}
		}
	}
	return points
}

package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A LatestQuery asks for the last points of a target at an instant.
type LatestQuery struct {
	Target string
	Client string // who asks
	At     time.Time
	// Window is how long before the instant a point may be; of series with longer steps it is two
	// steps.
	Window time.Duration
}

// A LatestPoint is the last point of a series of a target.
type LatestPoint struct {
	Name  string // of the series, "" for one without
	Tags  map[string]string
	Time  int64 // seconds since 1970
	Value float64
}

// CheckTarget reports what is wrong with the text of a target, whatever data there is. It is stricter than /render, which
// passes over text after a target: a rule whose bracket is missing would never find anything.
func CheckTarget(text string, utf8Metrics bool) error {
	return checkTarget(eval.New(), text, utf8Metrics)
}

func checkTarget(e *eval.Evaluator, text string, utf8Metrics bool) error {
	n, err := (expr.Parser{UTF8Metrics: utf8Metrics}).ParseWhole(text)
	if err != nil {
		return &python.InputError{Reason: err.Error(), Target: python.Excerpt(text, python.MaxExcerpt)}
	}
	return e.Check(n)
}

// Latest evaluates a target within the limits of /render and returns the last point of each series that
// has one in the window. What it takes is in the account of ctx.
func (a *API) Latest(ctx context.Context, q LatestQuery) ([]LatestPoint, error) {
	if err := checkTarget(a.evaluator, q.Target, a.o.UTF8Metrics); err != nil { // it may be of a template, or of before a reload
		return nil, err
	}
	if a.o.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.o.Limits.Timeout)
		defer cancel()
	}
	ctx, listed := a.o.Running.Begin(ctx, query.Description{Language: "graphite", Text: python.Excerpt(q.Target, mostShown), Client: q.Client})
	defer listed.End()
	turn, err := a.turns.Begin(ctx)
	if err != nil {
		return nil, busy(err)
	}
	defer turn.End()
	points, err := a.renderer.latest(query.WithTurn(ctx, turn), q)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), query.ErrEnded):
		return nil, query.ErrEnded
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err() // the error of the store only follows from it
	}
	return points, err
}

// latest evaluates the target, and again over a longer window if there are series with longer steps.
func (a *renderer) latest(ctx context.Context, q LatestQuery) ([]LatestPoint, error) {
	window := int64(q.Window / time.Second)
	list, err := a.before(ctx, q, window)
	if err != nil {
		return nil, err
	}
	needed := window
	for _, s := range list {
		needed = max(needed, 2*s.Step)
	}
	if needed > window {
		if list, err = a.before(ctx, q, needed); err != nil {
			return nil, err
		}
	}
	var points []LatestPoint
	for _, s := range list {
		if p, ok := lastPoint(s, q.At.Unix()-max(window, 2*s.Step), q.At.Unix()); ok {
			points = append(points, p)
		}
	}
	return points, nil
}

// before evaluates the target over some seconds before the instant.
func (a *renderer) before(ctx context.Context, q LatestQuery, seconds int64) ([]*series.Series, error) {
	at := q.At.Unix()
	if seconds <= 0 {
		return nil, fmt.Errorf("a window of %d seconds cannot be", seconds)
	}
	if seconds = min(seconds, at); seconds <= 0 {
		return nil, nil // nothing is older than 1970
	}
	d := &renderRequest{targets: []string{q.Target}, most: -1}
	d.request = a.between(at-seconds, at, q.At, a.location, q.At)
	held := query.AccountOf(ctx).Held()
	list, err := a.evaluated(ctx, d)
	if err != nil {
		query.AccountOf(ctx).Give(query.AccountOf(ctx).Held() - held)
	}
	return list, err
}

// lastPoint returns the last point of a series after a time, and not after another.
func lastPoint(s *series.Series, after, until int64) (p LatestPoint, ok bool) {
	for at, v := range s.Points() {
		if at > after && at <= until && !math.IsNaN(v) {
			p.Time, p.Value, ok = at, v, true
		}
	}
	if p.Tags = s.Tags; !s.Unnamed {
		p.Name = s.Name
	}
	return p, ok
}

// Labels returns the tags of the series but aggregatedBy, and its name as the label "name", unless it is the path of the tags
// (a;b=c). The name of a series without tags is what tells it from others.
func (p LatestPoint) Labels() labels.Labels {
	path := []string{p.Tags["name"]}
	tagged := false
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, key := range slices.Sorted(maps.Keys(p.Tags)) {
		if key != "name" && key != "aggregatedBy" {
			path = append(path, key+"="+p.Tags[key])
			b.Set(key, p.Tags[key])
			tagged = true
		}
	}
	if p.Name != "" && (!tagged || p.Name != strings.Join(path, ";")) {
		b.Set("name", p.Name)
	}
	return b.Labels()
}

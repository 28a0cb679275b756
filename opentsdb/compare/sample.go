package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/client"
)

// A Sampler makes random queries over the metrics that a server lists.
type Sampler struct {
	server  client.Client
	timeout time.Duration
	times   Times
	span    time.Duration // before now, of which a query takes some
	random  *rand.Rand
	metrics []string
	keys    map[string][]string // tag keys, of metrics that were asked for
}

// mostMetrics is how many metrics are listed.
const mostMetrics = 100_000

// NewSampler lists the metrics of a server.
func NewSampler(ctx context.Context, o Options, t Times, span time.Duration, seed uint64) (*Sampler, error) {
	s := &Sampler{
		server: o.TSD, timeout: o.Timeout, times: t, span: span, random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // it is no secret
		keys: map[string][]string{},
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if err := s.server.Get(ctx, "/api/suggest", url.Values{"type": {"metrics"}, "max": {strconv.Itoa(mostMetrics)}}, &s.metrics); err != nil {
		return nil, fmt.Errorf("the metrics of %s: %w", sideName(sideTSD), err)
	}
	if len(s.metrics) == 0 {
		return nil, fmt.Errorf("%s lists no metrics", sideName(sideTSD))
	}
	slices.Sort(s.metrics)
	return s, nil
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// shortest and longest are the spans of queries.
const shortest, longest = 5 * time.Minute, 7 * 24 * time.Hour

// Next returns the next query. It learns the tags of a metric by asking for them.
func (s *Sampler) Next(ctx context.Context) (Request, error) {
	metric := pick(s.random, s.metrics...)
	span := time.Duration(float64(shortest) * pow(float64(min(longest, s.span))/float64(shortest), s.random.Float64()))
	end := s.times.Now.Add(-s.times.Newest - time.Duration(s.random.Int64N(int64(max(s.span-span, 1)))))
	start := end.Add(-span)
	q := map[string]any{"aggregator": pick(s.random, "sum", "avg", "min", "max", "count", "zimsum", "mimmax", "dev", "p95", "none"), "metric": metric}
	if step := span / time.Duration(pick(s.random, 10, 60, 300)); s.random.IntN(3) > 0 {
		q["downsample"] = fmt.Sprintf("%ds-%s%s", max(1, int(step.Seconds())), pick(s.random, "avg", "sum", "min", "max", "count", "first", "last"), pick(s.random, "", "", "-none", "-nan", "-zero"))
	}
	if s.random.IntN(4) == 0 {
		q["rate"] = true
		if s.random.IntN(2) == 0 {
			q["rateOptions"] = map[string]any{"counter": true, "dropResets": s.random.IntN(2) == 0}
		}
	}
	keys, err := s.keysOf(ctx, metric, start, end)
	if err != nil {
		return Request{}, err
	}
	if len(keys) > 0 && s.random.IntN(2) == 0 {
		q["filters"] = []any{map[string]any{"type": "wildcard", "tagk": pick(s.random, keys...), "filter": "*", "groupBy": s.random.IntN(3) > 0}}
	}
	body, err := json.Marshal(map[string]any{"start": start.UnixMilli(), "end": end.UnixMilli(), "msResolution": s.random.IntN(2) == 0, "queries": []any{q}})
	return Request{Body: body}, err
}

// pow is x to the y, of x of at least 1.
func pow(x, y float64) float64 {
	if x <= 1 {
		return 1
	}
	return math.Pow(x, y)
}

// keysOf returns tag keys of a metric.
func (s *Sampler) keysOf(ctx context.Context, metric string, start, end time.Time) ([]string, error) {
	if keys, ok := s.keys[metric]; ok {
		return keys, nil
	}
	body, err := json.Marshal(map[string]any{
		"start": start.UnixMilli(), "end": end.UnixMilli(), "queries": []any{map[string]any{"aggregator": "count", "metric": metric, "downsample": "1d-count"}},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var keys []string
	err = s.server.Query(ctx, body, func(a *client.Series) error {
		for key := range a.Tags {
			keys = append(keys, key)
		}
		keys = append(keys, a.AggregateTags...)
		return nil
	})
	if refusal, ok := errors.AsType[*client.StatusError](err); ok && refusal.Status < 500 && !strings.Contains(refusal.Message, "timeout") {
		return nil, nil // the query itself shows whether both refuse it
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sideName(sideTSD), err)
	}
	if slices.Sort(keys); len(keys) > 0 {
		s.keys[metric] = slices.Compact(keys)
	}
	return s.keys[metric], nil
}

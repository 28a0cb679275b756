// Package compare asks two servers of OpenTSDB's API the same queries and tells in what their answers differ:
// series, instants and values. It only reads, and holds little more than one series of each answer at a time.
package compare

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/client"
)

// Options are how answers are compared.
type Options struct {
	TSD, Adapter client.Client
	Timeout      time.Duration // of a request
	Tolerance    float64       // relative difference up to which two floats are equal
	Show         int           // series of a request, and instants of a series, that are shown
}

// A Result is what was found of one request.
type Result struct {
	Series, Points int // that were compared
	Differences    int // series that differ, or 1 if only one of both answers
	Refused        bool
	Shown          []string // lines about the differences
}

// Compare asks both servers. An error means that one of them could not be asked.
func Compare(ctx context.Context, o Options, r Request) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	c := &comparison{Options: o, waiting: [2]map[string][]held{{}, {}}}
	var next [2]func() (*client.Series, error, bool)
	for i, server := range []client.Client{o.TSD, o.Adapter} {
		pull, stop := iter.Pull2(answer(ctx, server, r))
		defer stop()
		next[i] = pull
	}
	var failures [2]error
	for ended := [2]bool{}; !ended[0] || !ended[1]; {
		for side := range next {
			if ended[side] {
				continue
			}
			s, err, ok := next[side]()
			switch {
			case !ok:
				ended[side] = true
			case err != nil:
				ended[side], failures[side] = true, err
			case failures[1-side] != nil:
				ended[side] = true // there is nothing to compare it with
			default:
				if err := c.take(side, s); err != nil {
					return nil, err
				}
			}
		}
	}
	return c.result(failures)
}

// answer gives the series of an answer, and perhaps an error at its end.
func answer(ctx context.Context, server client.Client, r Request) iter.Seq2[*client.Series, error] {
	return func(yield func(*client.Series, error) bool) {
		stopped := errors.New("stopped")
		each := func(s *client.Series) error {
			if !yield(s, nil) {
				return stopped
			}
			return nil
		}
		var err error
		if r.Body != nil {
			err = server.Query(ctx, r.Body, each)
		} else {
			err = server.QueryURL(ctx, r.Parameters, each)
		}
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, err)
		}
	}
}

// The two sides.
const (
	sideTSD = iota
	sideAdapter
)

func sideName(side int) string { return [...]string{"the TSD", "the adapter"}[side] }

// A comparison is of the two answers to one request.
type comparison struct {
	Options
	res     Result
	waiting [2]map[string][]held // series of which the other answer has none yet
	points  int                  // of these
}

// held is a series that waits for its counterpart. Several of one name come in the order of their queries.
type held struct{ points client.Points }

// maxWaiting bounds the points that wait.
const maxWaiting = 4 << 20

// take compares a series, or keeps it until the other side has it too.
func (c *comparison) take(side int, s *client.Series) error {
	name, other := seriesName(s), c.waiting[1-side]
	if list := other[name]; len(list) > 0 {
		c.points -= len(list[0].points)
		if other[name] = list[1:]; len(list) == 1 {
			delete(other, name)
		}
		both := [2]client.Points{}
		both[side], both[1-side] = s.Points, list[0].points
		c.compare(name, both[sideTSD], both[sideAdapter])
		return nil
	}
	if c.points += len(s.Points); c.points > maxWaiting {
		return fmt.Errorf("the answers have their series in other orders, and more than %d points to be held", maxWaiting)
	}
	c.res.Series++ // in either way
	c.waiting[side][name] = append(c.waiting[side][name], held{slices.Clone(s.Points)})
	return nil
}

// seriesName is what series are known by.
func seriesName(s *client.Series) string {
	var b strings.Builder
	b.WriteString(s.Metric + "{")
	for i, key := range slices.Sorted(maps.Keys(s.Tags)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key + "=" + s.Tags[key])
	}
	b.WriteByte('}')
	if len(s.AggregateTags) > 0 {
		b.WriteString(" of all " + strings.Join(slices.Sorted(slices.Values(s.AggregateTags)), ","))
	}
	return b.String()
}

// compare compares the points of a series.
func (c *comparison) compare(name string, tsd, adapter client.Points) {
	byTime := func(a, b client.Point) int { return int(min(max(a.Time-b.Time, -1), 1)) }
	slices.SortStableFunc(tsd, byTime)
	slices.SortStableFunc(adapter, byTime)
	var shown []string
	differ, all := 0, 0
	note := func(at int64, tsd, adapter string) {
		if differ++; len(shown) < c.Show {
			shown = append(shown, fmt.Sprintf("    %d: %s has %s, %s has %s", at, sideName(sideTSD), tsd, sideName(sideAdapter), adapter))
		}
	}
	const none = "no point"
	for len(tsd) > 0 || len(adapter) > 0 {
		all++
		switch {
		case len(adapter) == 0 || len(tsd) > 0 && tsd[0].Time < adapter[0].Time:
			note(tsd[0].Time, tsd[0].Value, none)
			tsd = tsd[1:]
		case len(tsd) == 0 || adapter[0].Time < tsd[0].Time:
			note(adapter[0].Time, none, adapter[0].Value)
			adapter = adapter[1:]
		default:
			if !c.equal(tsd[0].Value, adapter[0].Value) {
				note(tsd[0].Time, tsd[0].Value, adapter[0].Value)
			}
			tsd, adapter = tsd[1:], adapter[1:]
		}
	}
	if c.res.Points += all; differ > 0 {
		c.differ(append([]string{fmt.Sprintf("  %s: %d of %d instants differ", name, differ, all)}, shown...)...)
	}
}

// equal reports whether two values are: numbers of the same value, whatever their text.
func (c *comparison) equal(a, b string) bool {
	if a == b {
		return true
	}
	x, err := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	if err == nil && err2 == nil && c.Tolerance == 0 {
		return x == y
	}
	v, err := strconv.ParseFloat(a, 64)
	w, err2 := strconv.ParseFloat(b, 64)
	if err != nil || err2 != nil {
		return false
	}
	if v == w || math.IsNaN(v) && math.IsNaN(w) {
		return true
	}
	distance := math.Abs(v - w)
	return !math.IsInf(distance, 0) && distance <= c.Tolerance*max(math.Abs(v), math.Abs(w))
}

// differ counts a difference, and keeps the lines about it.
func (c *comparison) differ(lines ...string) {
	if c.res.Differences++; c.res.Differences <= c.Show {
		c.res.Shown = append(c.res.Shown, lines...)
	}
}

// result returns the result when both answers have ended.
func (c *comparison) result(failures [2]error) (*Result, error) {
	var refusals [2]*client.StatusError
	for side, err := range failures {
		refusal, ok := errors.AsType[*client.StatusError](err)
		if err != nil && (!ok || refusal.Status >= http.StatusInternalServerError) {
			return nil, fmt.Errorf("%s: %w", sideName(side), err)
		}
		refusals[side] = refusal
	}
	tsd, adapter := refusals[sideTSD], refusals[sideAdapter]
	switch {
	case tsd != nil && adapter != nil && tsd.Status == adapter.Status:
		c.res.Refused = true
		return &c.res, nil
	case tsd != nil || adapter != nil:
		for side, refusal := range refusals {
			text := "answers"
			if refusal != nil {
				text = "refuses: " + refusal.Error()
			}
			c.res.Shown = append(c.res.Shown, "  "+sideName(side)+" "+text)
		}
		c.res.Differences = 1
		return &c.res, nil
	}
	for side, waiting := range c.waiting {
		for _, name := range slices.Sorted(maps.Keys(waiting)) {
			for _, h := range waiting[name] {
				c.res.Points += len(h.points)
				c.differ(fmt.Sprintf("  %s: only %s has it, with %d points", name, sideName(side), len(h.points)))
			}
		}
	}
	if more := c.res.Differences - c.Show; more > 0 {
		c.res.Shown = append(c.res.Shown, fmt.Sprintf("  and %d other series", more))
	}
	return &c.res, nil
}

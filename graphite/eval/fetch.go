package eval

import (
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Fetch is what a target needs to read: the series that Pattern names, or with Tags those that
// satisfy the tag expressions (Pattern is then the text of the seriesByTag call), in a window that
// excludes From and includes the slot that Until is in (see Grid). Times are epoch seconds; points
// after Now are not to be returned.
type Fetch struct {
	Pattern          string
	Tags             []string
	From, Until, Now int64
}

// Source reads series. Tags of a Series may be nil when its name contains them; only Name, Tags,
// Start, End, Step and Values count. The same source is asked again for windows that depend on the
// steps of what it gave, and for names that functions make up (applyByNode, aliasQuery,
// useSeriesAbove), so it should keep what it has read. Values are not changed.
type Source interface {
	// Fetch returns the series of each fetch, in order. A pattern without series is not an error.
	Fetch(ctx context.Context, list []Fetch) ([][]*series.Series, error)
}

// EventSource is a Source that knows events. Without it there are none.
type EventSource interface {
	// Events returns the times (epoch seconds, ascending) of the events between from and until,
	// both included, that have all tags; with nil tags, of all events.
	Events(ctx context.Context, tags []string, from, until int64) ([]int64, error)
}

// fetchKey tells fetches apart.
type fetchKey struct {
	pattern     string
	from, until int64
}

// A fetchList is the fetches of an expression, each once, in order of first need.
type fetchList struct {
	seen map[fetchKey]bool
	list []Fetch
}

func (l *fetchList) add(s *scope, pattern string, tags []string) {
	key := s.key(pattern)
	if !l.seen[key] {
		l.seen[key] = true
		l.list = append(l.list, s.toFetch(pattern, tags))
	}
}

func (s *scope) key(pattern string) fetchKey {
	return fetchKey{pattern, s.Window.From, s.Window.Until}
}

func (s *scope) toFetch(pattern string, tags []string) Fetch {
	now := s.Request.Now
	if now == 0 {
		now = s.Request.Clock
	}
	return Fetch{Pattern: pattern, Tags: tags, From: s.Window.From, Until: s.Window.Until, Now: now}
}

// tagExpressions returns the strings among the arguments of seriesByTag.
func tagExpressions(n *expr.Call) []string {
	tags := []string{}
	for _, a := range n.Args {
		if t, ok := a.(expr.String); ok {
			tags = append(tags, string(t))
		}
	}
	return tags
}

// prefetch reads, in the scope's window, all paths that nodes mention in positional arguments.
// Those in keyword arguments are not read, as in graphite-web: such a path gives no series unless
// it stands elsewhere too.
func (s *scope) prefetch(nodes ...expr.Node) error {
	l := &fetchList{seen: map[fetchKey]bool{}}
	for _, n := range nodes {
		if err := s.mentioned(l, n); err != nil {
			return err
		}
	}
	missing := slices.DeleteFunc(l.list, func(f Fetch) bool {
		_, ok := s.fetched[fetchKey{f.Pattern, f.From, f.Until}]
		return ok
	})
	if len(missing) == 0 {
		return nil
	}
	if s.Window.From > s.Window.Until {
		return python.Crash("Invalid time interval: from time '%d' is after until time '%d'", s.Window.From, s.Window.Until)
	}
	results, err := s.read(missing)
	if err != nil {
		return err
	}
	for i, f := range missing {
		if err := s.keep(f, results[i]); err != nil {
			return err
		}
	}
	return nil
}

// read reads fetches of one window, and notes them in the trace.
func (s *scope) read(list []Fetch) ([][]*series.Series, error) {
	query := query.From(s.Ctx)
	before := query.Samples()
	ctx, reading := s.trace.Reading(s.Ctx, patternsOf(list), s.Window.From*1000, s.Window.Until*1000)
	results, err := s.source.Fetch(ctx, list)
	found := 0
	for _, of := range results {
		found += len(of)
	}
	n := reading.End(found, query.Samples()-before)
	for _, f := range list {
		s.reads[fetchKey{f.Pattern, f.From, f.Until}] = n
	}
	return results, err
}

// patternsOf names fetches, as far as explanations show them.
func patternsOf(list []Fetch) string {
	if len(list) == 1 {
		return list[0].Pattern
	}
	var names strings.Builder
	for _, f := range list {
		if names.Len() > python.MaxExcerpt {
			break
		}
		names.WriteString(f.Pattern)
		names.WriteByte(' ')
	}
	return strings.TrimSuffix(names.String(), " ")
}

// mentioned collects paths without further windows.
func (s *scope) mentioned(l *fetchList, n expr.Node) error {
	switch n := n.(type) {
	case *expr.Path:
		if err := s.Ctx.Err(); err != nil {
			return err
		}
		path, _, done, _ := s.values.apply(n.Text)
		if !done {
			l.add(s, path, nil)
		}
	case *expr.Template:
		inner := *s
		inner.values = s.replacements(n)
		return inner.mentioned(l, n.Body)
	case *expr.Pipe:
		if err := s.mentioned(l, n.Base); err != nil || s.again {
			return err
		}
		for _, c := range n.Calls {
			if err := s.mentioned(l, c); err != nil {
				return err
			}
		}
	case *expr.Call:
		if n.Name == "seriesByTag" {
			tags := tagExpressions(n)
			if len(tags) == 0 {
				return python.Crash("no tag expressions specified")
			}
			l.add(s, n.Raw, tags)
			return nil
		}
		for _, a := range n.Args {
			if err := s.mentioned(l, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep remembers the series of a fetch: sorted by name, of equal names the one with most points.
func (s *scope) keep(f Fetch, list []*series.Series) error {
	if err := s.Account.Take(fetchBytes + int64(len(f.Pattern)) + 8*int64(len(list))); err != nil {
		return err
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *series.Series) int { return strings.Compare(a.Name, b.Name) })
	out := list[:0]
	for _, c := range list {
		s.points += len(c.Values)
		if n := len(out); n > 0 && out[n-1].Name == c.Name {
			if series.CountPresent(c.Values) > series.CountPresent(out[n-1].Values) {
				out[n-1] = c
			}
			continue
		}
		out = append(out, c)
	}
	s.series += len(out)
	s.fetched[fetchKey{f.Pattern, f.From, f.Until}] = out
	if l := s.Request.Limits; l.Series > 0 && s.series > l.Series || l.Points > 0 && s.points > l.Points {
		return python.Invalid("the targets need more than %d series or %d points (--query.max-series, --query.max-samples)", l.Series, l.Points)
	}
	return nil
}

// fetch returns what was read for a path in the scope's window, as series of its own.
func (s *scope) fetch(path string) ([]*series.Series, error) {
	kept := s.fetched[s.key(path)]
	step := s.trace.Enter("series", path)
	defer step.End()
	if n, ok := s.reads[s.key(path)]; ok {
		step.Uses(n)
	}
	if err := s.Account.Take(int64(len(kept)) * series.Bytes); err != nil {
		return nil, err
	}
	out := make([]*series.Series, len(kept))
	for i, k := range kept {
		out[i] = k.OfPath(path, s.XFilesFactor)
	}
	step.Result(sizeOf(out))
	return out, nil
}

// fetchBytes is the memory of a remembered fetch without its series.
const fetchBytes = 300

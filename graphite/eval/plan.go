package eval

import (
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
)

// Fetch is what a target needs to read: the series that Pattern names, or with Tags those that satisfy the tag
// expressions (Pattern is then the text of the seriesByTag call), in a window that excludes From and includes the slot
// that Until is in (see Grid). Times are epoch seconds; points after Now are not to be returned.
type Fetch struct {
	Pattern          string
	Tags             []string
	From, Until, Now int64
}

// Source reads series. Tags of a Series may be nil when its name says them; only Name, Tags, Start, End, Step and
// Values count. The same source is asked again for windows that depend on the steps of what it gave, and for names
// that functions make up (applyByNode, aliasQuery, useSeriesAbove), so it should keep what it has read. Values are
// not changed.
type Source interface {
	// Fetch returns the series of each fetch, in order. A pattern without series is no error.
	Fetch(ctx context.Context, list []Fetch) ([][]*Series, error)
}

// EventSource is a Source that knows events. Without it there are none.
type EventSource interface {
	// Events returns the times (epoch seconds, ascending) of the events between from and until, both included, that
	// have all tags; with nil tags, of all events.
	Events(ctx context.Context, tags []string, from, until int64) ([]int64, error)
}

// Plan returns what targets will fetch as far as it can be known before anything is read: everything but windows that
// are counted in points and names that functions make up. Fetches are in order of first need, without repetition.
func (e *Evaluator) Plan(targets []expr.Node, request Request) ([]Fetch, error) {
	s := &scope{run: &run{ev: e, request: request}, window: request.window()}
	p := &planner{seen: map[fetchKey]bool{}}
	for _, t := range targets {
		if err := p.plan(s, t); err != nil {
			return nil, err
		}
	}
	return p.list, nil
}

// fetchKey tells fetches apart.
type fetchKey struct {
	pattern     string
	from, until int64
}

type planner struct {
	seen map[fetchKey]bool
	list []Fetch
}

func (p *planner) plan(s *scope, n expr.Node) error {
	switch n := n.(type) {
	case *expr.Path:
		path, _, done, err := s.values.apply(n.Text)
		if done || err != nil {
			return err
		}
		p.add(s, path, nil)
	case *expr.Pipe:
		return p.pipe(s, n)
	case *expr.Template:
		inner := *s
		inner.values = s.replacements(n)
		return p.plan(&inner, n.Body)
	case *expr.Call:
		return p.call(s, n, n.Args)
	}
	return nil
}

// pipe plans the base, the calls' own arguments, and the base again where a call evaluates it in other windows.
func (p *planner) pipe(s *scope, n *expr.Pipe) error {
	if err := p.plan(s, n.Base); err != nil || s.again {
		return err
	}
	for _, c := range n.Calls {
		if err := p.call(s, c, append([]expr.Node{n.Base}, c.Args...)); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) call(s *scope, n *expr.Call, args []expr.Node) error {
	if n.Name == "seriesByTag" {
		p.add(s, n.Raw, tagExpressions(n))
		return nil
	}
	for _, a := range args {
		if err := p.plan(s, a); err != nil {
			return err
		}
	}
	fn, ok := s.ev.functions[n.Name]
	if !ok || fn.windows == nil || len(args) == 0 {
		return nil
	}
	for _, w := range furtherWindows(s, fn, n, args) {
		inner := *s
		inner.window, inner.again, inner.values = w, true, nil
		if err := p.plan(&inner, args[0]); err != nil {
			return err
		}
	}
	return nil
}

// furtherWindows asks the function; arguments that do not fit show when it is called.
func furtherWindows(s *scope, fn *Function, n *expr.Call, args []expr.Node) []window {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = scalar(a)
	}
	values[0] = []*Series(nil)
	kwargs := map[string]any{}
	for _, k := range n.Kwargs {
		kwargs[k.Name] = scalar(k.Value)
	}
	if a, k, err := fn.validate(values, kwargs); err == nil {
		values, kwargs = a, k
	}
	bound, err := fn.bind(values, kwargs)
	if err != nil {
		return nil
	}
	c := &call{scope: s, fn: fn, args: bound}
	list, err := fn.windows(c)
	if err != nil || c.err != nil {
		return nil
	}
	return list
}

func (p *planner) add(s *scope, pattern string, tags []string) {
	key := s.key(pattern)
	if !p.seen[key] {
		p.seen[key] = true
		p.list = append(p.list, s.toFetch(pattern, tags))
	}
}

func (s *scope) key(pattern string) fetchKey {
	return fetchKey{pattern, s.window.from, s.window.until}
}

func (s *scope) toFetch(pattern string, tags []string) Fetch {
	now := s.request.Now
	if now == 0 {
		now = s.request.Clock
	}
	return Fetch{Pattern: pattern, Tags: tags, From: s.window.from, Until: s.window.until, Now: now}
}

// tagExpressions are the strings among the arguments of seriesByTag.
func tagExpressions(n *expr.Call) []string {
	tags := []string{}
	for _, a := range n.Args {
		if t, ok := a.(expr.String); ok {
			tags = append(tags, string(t))
		}
	}
	return tags
}

// prefetch reads, in the scope's window, all paths that nodes mention in positional arguments. Those in keyword
// arguments are not read, as in graphite-web: such a path gives no series unless it stands elsewhere too.
func (s *scope) prefetch(nodes ...expr.Node) error {
	p := &planner{seen: map[fetchKey]bool{}}
	for _, n := range nodes {
		if err := s.mentioned(p, n); err != nil {
			return err
		}
	}
	missing := slices.DeleteFunc(p.list, func(f Fetch) bool {
		_, ok := s.fetched[fetchKey{f.Pattern, f.From, f.Until}]
		return ok
	})
	if len(missing) == 0 {
		return nil
	}
	if s.window.from > s.window.until {
		return crash("Invalid time interval: from time '%d' is after until time '%d'", s.window.from, s.window.until)
	}
	results, err := s.source.Fetch(s.ctx, missing)
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

// mentioned collects paths without further windows.
func (s *scope) mentioned(p *planner, n expr.Node) error {
	switch n := n.(type) {
	case *expr.Path:
		if err := s.ctx.Err(); err != nil {
			return err
		}
		path, _, done, _ := s.values.apply(n.Text)
		if !done {
			p.add(s, path, nil)
		}
	case *expr.Template:
		inner := *s
		inner.values = s.replacements(n)
		return inner.mentioned(p, n.Body)
	case *expr.Pipe:
		if err := s.mentioned(p, n.Base); err != nil || s.again {
			return err
		}
		for _, c := range n.Calls {
			if err := s.mentioned(p, c); err != nil {
				return err
			}
		}
	case *expr.Call:
		if n.Name == "seriesByTag" {
			tags := tagExpressions(n)
			if len(tags) == 0 {
				return crash("no tag expressions specified")
			}
			p.add(s, n.Raw, tags)
			return nil
		}
		for _, a := range n.Args {
			if err := s.mentioned(p, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep remembers the series of a fetch: sorted by name, of equal names the one with most points.
func (s *scope) keep(f Fetch, list []*Series) error {
	if err := s.account.Take(fetchBytes + int64(len(f.Pattern)) + 8*int64(len(list))); err != nil {
		return err
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *Series) int { return strings.Compare(a.Name, b.Name) })
	out := list[:0]
	for _, c := range list {
		s.points += len(c.Values)
		if n := len(out); n > 0 && out[n-1].Name == c.Name {
			if countPresent(c.Values) > countPresent(out[n-1].Values) {
				out[n-1] = c
			}
			continue
		}
		out = append(out, c)
	}
	s.series += len(out)
	s.fetched[fetchKey{f.Pattern, f.From, f.Until}] = out
	if l := s.request.Limits; l.Series > 0 && s.series > l.Series || l.Points > 0 && s.points > l.Points {
		return invalid("the targets need more than %d series or %d points (--query.max-series, --query.max-samples)", l.Series, l.Points)
	}
	return nil
}

// fetch returns what was read for a path in the scope's window, as series of its own.
func (s *scope) fetch(path string) ([]*Series, error) {
	kept := s.fetched[s.key(path)]
	if err := s.account.Take(int64(len(kept)) * seriesBytes); err != nil {
		return nil, err
	}
	out := make([]*Series, len(kept))
	for i, k := range kept {
		out[i] = k.fetched(path, s.xff)
	}
	return out, nil
}

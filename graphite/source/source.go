// Package source reads what the targets of a request name: it finds their series in trees and by
// tags, lays them out in the slots of their steps, and reads these from a store. The steps are
// those of carbon's rules, else those in the series' documents, else those that follow from their
// points.
//
// It never evaluates a function, and knows no HTTP.
package source

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Sources makes the sources of requests. Safe for concurrent use.
type Sources struct{ shared }

// shared is what the sources of all requests have in common: the store, the steps and the rules of
// names.
type shared struct {
	o        Options
	reader   reader
	steps    *steps
	archives *keptArchives
}

// New returns the sources of a store. Run keeps what they learn.
func New(o Options) *Sources {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := reader{o.Store}
	return &Sources{shared{o: o, reader: r, steps: newSteps(o, r), archives: newKeptArchives(o)}}
}

// With returns sources with other rules and limits, which share what is known of series.
func (s *Sources) With(o Options) *Sources {
	other := s.shared
	other.o = o
	return &Sources{other}
}

// Run keeps the steps of series that were inferred while requests were answered, until ctx ends.
// Without it they are inferred again after each restart.
func (s *Sources) Run(ctx context.Context) error { return s.steps.run(ctx) }

// Open returns the source of one request.
func (s *Sources) Open() *Source {
	return &Source{shared: &s.shared, found: map[string][]*targetSeries{}, targets: map[targetKey]*targetSeries{}}
}

// Source is what the targets of one request read from. It keeps what it has read, because functions
// ask again for other windows and targets for the same series. It is not safe for concurrent use.
type Source struct {
	*shared
	found   map[string][]*targetSeries // by path pattern
	targets map[targetKey]*targetSeries
	slots   int64 // read so far
}

// A targetSeries is what a reply shows as one series: a name and the stored series under it. There
// are several of these where writers spell one series in two ways, and where a tree sums the series
// of a path.
type targetSeries struct {
	name   string
	tags   map[string]string // nil: eval reads them in the name
	refs   []storage.Ref
	sum    bool // the series are added slot by slot
	layout layout
	kept   map[storage.Ref]*Kept // of those that have archives of their own; nil: none
	known  bool                  // layout is
	pieces []*piece
}

type targetKey struct {
	name  string
	first storage.Ref
}

// A piece is slots of a target series that were read or are about to be read.
type piece struct {
	grid
	values []float64
	read   bool
}

// Fetch implements eval.Source.
func (s *Source) Fetch(ctx context.Context, list []eval.Fetch) ([][]*series.Series, error) {
	wanted := make([][]*targetSeries, len(list))
	for i, f := range list {
		if f.From > f.Now {
			continue // whisper: the range is in the future
		}
		var err error
		if wanted[i], err = s.find(ctx, f); err != nil {
			return nil, err
		}
	}
	if err := s.check(ctx, wanted, list); err != nil {
		return nil, err
	}
	if err := awaitTurn(ctx, wanted, list); err != nil {
		return nil, err
	}
	var r reading
	out := make([][]*series.Series, len(list))
	for i, f := range list {
		for _, l := range wanted[i] {
			if g, ok := l.layout.grid(f.From, f.Until, f.Now); ok {
				series, err := s.take(ctx, l, g, &r)
				if err != nil {
					return nil, err
				}
				out[i] = append(out[i], series)
			}
		}
	}
	return out, r.run(ctx, s.reader, s.o.Archives)
}

// awaitTurn has a large request wait for others, before it takes memory for its points.
func awaitTurn(ctx context.Context, wanted [][]*targetSeries, list []eval.Fetch) error {
	turn := query.TurnOf(ctx)
	for i, f := range list {
		turn.Expect(query.Work(len(wanted[i]), (f.Until-f.From)/60))
	}
	return turn.Yield(ctx)
}

// check applies the limit of series, and gives target series their layouts.
func (s *Source) check(ctx context.Context, wanted [][]*targetSeries, list []eval.Fetch) error {
	if err := s.checkSeries(); err != nil {
		return err
	}
	for i, f := range list {
		if err := s.lay(ctx, wanted[i], span{f.From, f.Until, f.Now}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) checkSeries() error {
	if limit := s.o.Limits.Series; limit > 0 && len(s.targets) > limit {
		return fmt.Errorf("%w: the targets need %d series, the limit is %d (--query.max-series)", storage.ErrLimit, len(s.targets), limit)
	}
	return nil
}

// lay gives target series their layouts: of the files that were imported, else by the rules, else by the steps of
// their stored series.
func (s *Source) lay(ctx context.Context, targets []*targetSeries, w span) error {
	if err := s.layKept(ctx, targets); err != nil {
		return err
	}
	var unruled []*targetSeries
	var refs []storage.Ref
	for _, l := range targets {
		if l.known {
			continue
		}
		if archives, ok := s.o.Schemas.Archives(l.name); ok {
			l.layout, l.known = layout{archives: archives, aggregation: s.o.Aggregation.Of(l.name)}, true
			continue
		}
		unruled, refs = append(unruled, l), append(refs, l.refs...)
	}
	if len(unruled) == 0 {
		return nil
	}
	known, err := s.steps.of(ctx, refs, w)
	if err != nil {
		return err
	}
	for _, l := range unruled {
		step := known[l.refs[0]]
		for _, ref := range l.refs[1:] {
			step = min(step, known[ref])
		}
		l.layout, l.known = steady(step), true
	}
	return nil
}

// layKept gives those target series their layouts that were imported.
func (s *Source) layKept(ctx context.Context, targets []*targetSeries) error {
	if s.o.Archives == nil {
		return nil
	}
	var refs []storage.Ref
	for _, l := range targets {
		if !l.known {
			refs = append(refs, l.refs...)
		}
	}
	all, err := s.archives.of(ctx, refs)
	if err != nil || all == nil {
		return err
	}
	for _, l := range targets {
		if !l.known {
			l.keep(all)
		}
	}
	return nil
}

// keep gives a target series the layout of the file that one of its stored series has.
func (l *targetSeries) keep(all map[storage.Ref]*Kept) {
	var newest *Kept
	every := true
	for _, ref := range l.refs {
		kept := all[ref]
		if kept == nil {
			every = false
			continue
		}
		if l.kept == nil {
			l.kept = map[storage.Ref]*Kept{}
		}
		l.kept[ref] = kept
		if newest == nil || kept.Until > newest.Until {
			newest = kept
		}
	}
	if newest == nil {
		return
	}
	l.layout, l.known = layout{archives: newest.Archives, aggregation: newest.Aggregation}, true
	if every {
		l.layout.kept = newest
	}
}

// seriesBytes is the memory of a series of an answer without its slots.
const seriesBytes = 250

// mostSlots bounds what a request reads without a limit: memory does not hold more.
const mostSlots = 1 << 31

// take returns a target series on a grid. It lists slots that were not read yet for reading.
func (s *Source) take(ctx context.Context, l *targetSeries, g grid, r *reading) (*series.Series, error) {
	if err := query.AccountOf(ctx).Take(seriesBytes); err != nil {
		return nil, err
	}
	p := l.cover(g)
	if p == nil {
		missing := l.missing(g)
		for _, m := range missing {
			s.slots += m.slots() * l.width()
		}
		if limit := s.limit(); s.slots > limit {
			return nil, fmt.Errorf("%w: the targets need more than %d points (--query.max-samples)", storage.ErrLimit, limit)
		}
		if err := query.AccountOf(ctx).Take(targetBytes + 8*l.width()*l.extended(g).slots()); err != nil {
			return nil, err
		}
		p = l.extend(g)
		for _, m := range missing {
			r.add(l, m, p.part(m))
		}
		r.pieces = append(r.pieces, p)
	}
	return &series.Series{Name: l.name, Tags: l.tags, Start: g.start, End: g.end, Step: g.step, Values: p.part(g)}, nil
}

func (s *Source) limit() int64 {
	if limit := s.o.Limits.Points; limit > 0 {
		return int64(limit)
	}
	return mostSlots
}

// width returns how many slots must be read for each slot that is shown.
func (l *targetSeries) width() int64 {
	if l.sum {
		return int64(len(l.refs))
	}
	return 1
}

// cover returns a piece that has all slots of a grid, nil without one.
func (l *targetSeries) cover(g grid) *piece {
	for _, p := range l.pieces {
		if p.contains(g) {
			return p
		}
	}
	return nil
}

// neighbour returns the number of a piece that was read and overlaps or touches a grid, -1 without
// one.
func (l *targetSeries) neighbour(g grid) int {
	return slices.IndexFunc(l.pieces, func(p *piece) bool {
		return p.read && p.step == g.step && p.level == g.level && p.start <= g.end && g.start <= p.end
	})
}

// missing returns the slots of a grid that its neighbour does not have.
func (l *targetSeries) missing(g grid) []grid {
	at := l.neighbour(g)
	if at < 0 {
		return []grid{g}
	}
	p := l.pieces[at]
	var missing []grid
	for _, m := range []grid{{g.start, p.start, g.step, g.level}, {p.end, g.end, g.step, g.level}} {
		if m.start < m.end {
			missing = append(missing, m)
		}
	}
	return missing
}

// extend makes a piece for a grid: its neighbour's slots and further ones, without points as yet.
func (l *targetSeries) extend(g grid) *piece {
	at := l.neighbour(g)
	if at < 0 {
		p := &piece{grid: g, values: newSlots(g.slots())}
		l.pieces = append(l.pieces, p)
		return p
	}
	old := l.pieces[at]
	g = l.extended(g)
	p := &piece{grid: g, values: newSlots(g.slots())}
	copy(p.part(old.grid), old.values)
	l.pieces[at] = p
	return p
}

// extended returns the grid of the piece that extend makes.
func (l *targetSeries) extended(g grid) grid {
	if at := l.neighbour(g); at >= 0 {
		g.start, g.end = min(g.start, l.pieces[at].start), max(g.end, l.pieces[at].end)
	}
	return g
}

// part returns the values of slots that a piece contains.
func (p *piece) part(g grid) []float64 {
	from, to := (g.start-p.start)/p.step, (g.end-p.start)/p.step
	return p.values[from:to:to]
}

// targetSeries returns the target series of a name, the same one for the same stored series.
func (s *Source) targetSeries(name string, tags map[string]string, refs []storage.Ref) *targetSeries {
	key := targetKey{name, refs[0]}
	l := s.targets[key]
	if l == nil {
		l = &targetSeries{name: name, tags: tags, refs: refs}
		s.targets[key] = l
	}
	return l
}

func sortTargets(targets []*targetSeries) []*targetSeries {
	slices.SortFunc(targets, func(a, b *targetSeries) int { return strings.Compare(a.name, b.name) })
	return targets
}

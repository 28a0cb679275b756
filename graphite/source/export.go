package source

import (
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// An Exported is a target series with the slots of all of its archives, as a whisper file would have them.
type Exported struct {
	Name        string
	Archives    []conf.Archive
	Aggregation conf.Aggregation
	Levels      []Level // by the archives
	Nth, Of     int     // of the series that are not skipped, from 0
}

// A Level is slots of one archive: Values[i] begins i steps after Start (epoch seconds). eval.IsNone tells those
// without a value.
type Level struct {
	Start  int64
	Values []float64
}

// exportedAtOnce is how many series are read together.
const exportedAtOnce = 16

// yearSeconds is how far back a series of an unknown retention is exported.
const yearSeconds = 365 * 86400

// Export calls use with what a fetch finds, in the order of the names, with all archives at the time f.Now; names that
// skip tells of are not read. Series that no rule and no imported file gives archives have those of fallback; without
// these, one of their own step for a year.
func (s *Source) Export(ctx context.Context, f eval.Fetch, fallback []conf.Archive, skip func(name string) bool, use func(*Exported) error) error {
	targets, err := s.find(ctx, f)
	if err != nil {
		return err
	}
	targets = slices.DeleteFunc(targets, func(l *targetSeries) bool { return skip(l.name) })
	nth, of := 0, len(targets)
	numbered := func(e *Exported) error {
		e.Nth, e.Of = nth, of
		nth++
		return use(e)
	}
	for len(targets) > 0 {
		n := min(len(targets), exportedAtOnce)
		if err := s.lay(ctx, targets[:n], span{f.From, f.Until, f.Now}); err != nil {
			return err
		}
		if err := s.export(ctx, targets[:n], f.Now, fallback, numbered); err != nil {
			return err
		}
		clear(targets[:n])
		targets = targets[n:]
		if err := query.TurnOf(ctx).Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) export(ctx context.Context, targets []*targetSeries, now int64, fallback []conf.Archive, use func(*Exported) error) error {
	var r reading
	all := make([]Exported, len(targets))
	for i, l := range targets {
		l.layout.bound(fallback, s.o.Aggregation.Of(l.name))
		all[i] = Exported{Name: l.name, Archives: l.layout.archives, Aggregation: l.layout.aggregation}
		for level, a := range l.layout.archives {
			g := grid{step: a.Step, level: level}
			g.start, g.end = series.Grid(max(now-a.Retention(), 0), now, a.Step)
			values := newSlots(g.slots())
			all[i].Levels = append(all[i].Levels, Level{g.start, values})
			r.add(l, g, values)
		}
	}
	if err := r.run(ctx, s.reader, s.o.Archives); err != nil {
		return err
	}
	for i := range all {
		if err := use(&all[i]); err != nil {
			return err
		}
		all[i] = Exported{}
	}
	return nil
}

// bound gives a layout without an end archives.
func (l *layout) bound(fallback []conf.Archive, aggregation conf.Aggregation) {
	if !l.endless {
		return
	}
	step := l.archives[0].Step
	l.endless, l.aggregation, l.archives = false, aggregation, fallback
	if len(fallback) == 0 {
		l.archives = []conf.Archive{{Step: step, Points: max(yearSeconds/step, 1)}}
	}
}

package rules

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	promrules "github.com/prometheus/prometheus/rules"
)

// A present is a second group of the rules of a group that is behind. It evaluates the present, so that alerts do not
// wait until the group itself has made up what was missed. It is used by the goroutine of the group; others read its
// alerts.
type present struct {
	of, group *promrules.Group
	ready     atomic.Bool    // it is in the state from which it goes on
	last      time.Time      // the instant that it evaluated last
	wrote     map[int64]bool // instants that it evaluated and the group did not yet, by nanoseconds
}

// beside returns what evaluates the present of a group; nil: the group itself does.
func (t *turn) beside(g *promrules.Group) *present {
	if p := t.present.Load(); p != nil && p.of == g {
		return p
	}
	return nil
}

// shown returns the group that evaluates the present of a group.
func (s *shifts) shown(g *promrules.Group) *promrules.Group {
	s.mu.Lock()
	t := s.turns[promrules.GroupKey(g.File(), g.Name())]
	s.mu.Unlock()
	if t == nil {
		return g
	}
	if p := t.beside(g); p != nil && p.ready.Load() {
		return p.group
	}
	return g
}

// openBeside has a second group of the same rules go on from an instant; nil if there is none.
func (s *shifts) openBeside(ctx context.Context, t *turn, i iteration, last time.Time) *present {
	twin, err := s.twin(i.group)
	if err != nil { // the rules were evaluated before: this cannot be
		s.logger.Error("the present of a group of rules waits until what is missing is made up; report this defect", "group", t.key, "err", err)
		return nil
	}
	p := &present{of: i.group, group: twin, wrote: map[int64]bool{}}
	if before := t.present.Load(); before != nil { // of the rules before a reload
		p.wrote = before.wrote
		if before.last.After(last) {
			last = before.last
		}
	}
	p.last = last
	s.startPresent(ctx, t, p, i)
	t.present.Store(p)
	s.logger.Info("group of rules is behind: its present is evaluated first", "group", t.key, "evaluated_until", last)
	return p
}

// startPresent finds the alerts that were active at the last instant. A time without evaluations does not count for
// those that wait.
func (s *shifts) startPresent(ctx context.Context, t *turn, p *present, i iteration) {
	again := func() bool { return s.again(ctx, t, i.of(p.group), p.last) }
	if !again() {
		return
	}
	s.restore(ctx, p.group, p.last)
	if !again() {
		return
	}
	defer p.ready.Store(true)
	gap := i.at.Sub(p.last) - i.group.Interval()
	for _, r := range p.group.AlertingRules() {
		r.ForEachActiveAlert(func(a *promrules.Alert) {
			if a.State == promrules.StatePending && gap > 0 {
				a.ActiveAt = a.ActiveAt.Add(gap)
			}
		})
	}
}

// of returns the same iteration of another group.
func (i iteration) of(g *promrules.Group) iteration {
	i.group = g
	return i
}

// evaluatePresent evaluates the present.
func (s *shifts) evaluatePresent(ctx context.Context, t *turn, p *present, i iteration) {
	if !p.ready.Load() {
		if s.startPresent(ctx, t, p, i); !p.ready.Load() {
			return
		}
	}
	now := &pass{turn: t, late: s.now().Sub(i.at)}
	begin := time.Now()
	i.evaluate(context.WithValue(ctx, passKey{}, now), p.group, i.at)
	if ctx.Err() == nil && complete(p.group, begin) && !now.failed.Load() {
		p.last, p.wrote[i.at.UnixNano()] = i.at, true
	}
}

// firing returns the alerts that fire at present, by their labels.
func (p *present) firing() map[string]bool {
	all := map[string]bool{}
	for _, r := range p.group.AlertingRules() {
		r.ForEachActiveAlert(func(a *promrules.Alert) {
			if a.State == promrules.StateFiring {
				all[a.Labels.String()] = true
			}
		})
	}
	return all
}

// endBeside ends the second group: the first one is at the present. Where both have an alert in different states, the
// series of the other state ends.
func (s *shifts) endBeside(ctx context.Context, t *turn, p *present, i iteration) {
	states := map[string]bool{}
	each := func(g *promrules.Group, do func(series labels.Labels)) {
		for _, r := range g.AlertingRules() {
			r.ForEachActiveAlert(func(a *promrules.Alert) {
				if a.State != promrules.StateInactive {
					do(alertSeries(a))
				}
			})
		}
	}
	each(i.group, func(series labels.Labels) { states[series.String()] = true })
	app := s.write.Appender(ctx)
	at := timestamp.FromTime(i.at.Add(-i.group.QueryOffset())) + 1
	var err error
	each(p.group, func(series labels.Labels) {
		if err == nil && !states[series.String()] {
			_, err = app.Append(0, series, at, math.Float64frombits(value.StaleNaN))
		}
	})
	if err == nil && t.mayWrite(ctx) {
		err = app.Commit()
	} else {
		_ = app.Rollback()
	}
	if err != nil {
		s.logger.Warn("series of alerts were not marked as ended: their last state is shown for five minutes", "group", t.key, "err", err)
	}
	s.logger.Info("group of rules has made up what was missing", "group", t.key)
}

// alertsMetric is the metric of the alerts that are active.
const alertsMetric = "ALERTS"

// alertSeries returns the series by which the module shows an alert.
func alertSeries(a *promrules.Alert) labels.Labels {
	b := labels.NewBuilder(a.Labels)
	b.Set(model.MetricNameLabel, alertsMetric)
	b.Set("alertstate", a.State.String())
	return b.Labels()
}

package rules

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	promrules "github.com/prometheus/prometheus/rules"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// takeOver puts a group into the state in which the process before left it at an instant: which series there were,
// so that those that end get stale markers, and which alerts. It evaluates the group without writing. The alerts
// that fire are sent once more, since that process may have been killed before it could. It is false if this is to be
// tried again, or to be gone on with after stop.
func (s *shifts) takeOver(ctx context.Context, t *turn, i iteration, last, stop time.Time) bool {
	if t.replay.IsZero() || t.replay.After(last) {
		// alerts that fire on although their cause has gone
		at := last.Add(-replayed(i.group) * i.group.Interval())
		if !s.again(ctx, t, i, at) { // finds the alerts
			return false
		}
		s.restore(ctx, i.group, at)
		t.replay = at
	}
	for !t.replay.After(last) {
		if !s.again(ctx, t, i, t.replay) {
			t.replay = time.Time{}
			return false
		}
		t.replay = t.replay.Add(i.group.Interval())
		if t.beside(i.group) != nil && time.Now().After(stop) && !t.replay.After(last) {
			return false
		}
	}
	t.replay = time.Time{}
	return true
}

// again evaluates a group once more at an instant, without writing. It is false if this is to be tried again.
func (s *shifts) again(ctx context.Context, t *turn, i iteration, at time.Time) bool {
	p := &pass{turn: t, late: s.now().Sub(at), muted: true, beside: t.beside(i.group)}
	begin := time.Now()
	i.evaluate(context.WithValue(ctx, passKey{}, p), i.group, at)
	failed := p.failed.Load() || !complete(i.group, begin)
	return ctx.Err() == nil && !t.tryAgain(failed)
}

// replayed is how many evaluations of a group before the last one are repeated when it is taken over.
func replayed(g *promrules.Group) time.Duration {
	return min(longestKeepFiring(g)/g.Interval(), mostMissed)
}

func longestKeepFiring(g *promrules.Group) (longest time.Duration) {
	for _, r := range g.AlertingRules() {
		longest = max(longest, r.KeepFiringFor())
	}
	return longest
}

// restore gives the alerts of a group the times since when they are active, as the process before has stored them
// up to an instant. A time without evaluations does not count.
func (s *shifts) restore(ctx context.Context, g *promrules.Group, at time.Time) {
	at = at.Add(-g.QueryOffset())
	q, err := s.queryable.Querier(timestamp.FromTime(at.Add(-s.tolerance)), timestamp.FromTime(at))
	if err == nil {
		defer q.Close()
	}
	for _, r := range g.AlertingRules() {
		if err == nil && r.ActiveAlertsCount() > 0 && r.HoldDuration() > 0 {
			err = restoreRule(ctx, q, r, at, g.Interval())
		}
		r.SetRestored(true)
	}
	if err != nil {
		s.logger.Error("the state of alerts could not be read: they wait anew", "group", g.Name(), "err", err)
	}
}

func restoreRule(ctx context.Context, q promstorage.Querier, r *promrules.AlertingRule, at time.Time, interval time.Duration) error {
	set, err := r.QueryForStateSeries(ctx, q)
	if err != nil {
		return err
	}
	since := map[string]time.Time{}
	for set.Next() {
		it := set.At().Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			t, v := it.At()
			if name := alertName(set.At().Labels()); value.IsStaleNaN(v) {
				delete(since, name)
			} else {
				since[name] = withoutOutage(time.Unix(int64(v), 0).UTC(), at.Sub(timestamp.Time(t)), interval)
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	r.ForEachActiveAlert(func(a *promrules.Alert) {
		if t, ok := since[a.Labels.String()]; ok {
			a.ActiveAt = t
		}
	})
	return set.Err()
}

// withoutOutage moves the time since when an alert is active by a time without evaluations.
func withoutOutage(since time.Time, outage, interval time.Duration) time.Time {
	if outage < interval {
		return since
	}
	return since.Add(outage)
}

// forgetAlerts has the manager forget the alerts of a group that another process evaluates: they would come
// back as they were.
func forgetAlerts(g *promrules.Group, at time.Time) {
	for _, r := range g.AlertingRules() {
		r.ForEachActiveAlert(func(a *promrules.Alert) {
			a.State, a.ResolvedAt, a.LastSentAt = promrules.StateInactive, time.Unix(1, 0), at
		})
	}
}

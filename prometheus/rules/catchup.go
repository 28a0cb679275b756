package rules

import (
	"context"
	"math"
	"time"

	promrules "github.com/prometheus/prometheus/rules"
)

// An iteration is the evaluation of a group at an instant, which is the present.
type iteration struct {
	group    *promrules.Group
	at       time.Time
	evaluate evaluation
}

const (
	// mostBefore is how many evaluations the present may wait for. If more are missing, another group of the same
	// rules evaluates the present meanwhile.
	mostBefore = 10
	// longestBefore is how long the present may wait for them.
	longestBefore = 5 * time.Second
	// patienceBehind is how many times the missing instants may not become fewer while the present is evaluated first.
	patienceBehind = 3
)

// catchUp evaluates a group at the instants that are missing, in their order, and at the present. If that takes long, the
// present is evaluated first, and the rest in what remains of each interval. If the group is far behind because it takes
// longer than its interval, instants are left out, as the module does. It stops at an instant at which the group could
// not be evaluated, which is then missing the next time.
func (s *shifts) catchUp(ctx context.Context, t *turn, i iteration) {
	done, ready, behind := t.progress()
	instants := []time.Time{i.at}
	if !ready || behind > 0 || i.at.Sub(done) < leaseLength(i.group.Interval()) {
		instants = append(missed(i.group, done, i.at), i.at)
	}
	last, work := instants[0].Add(-i.group.Interval()), len(instants)-1
	if !ready {
		work += int(replayed(i.group))
	}
	beside := t.beside(i.group)
	if beside == nil && work > mostBefore && !t.alone {
		beside = s.openBeside(ctx, t, i, last)
	}
	if beside != nil {
		s.evaluatePresent(ctx, t, beside, i)
	}
	stop := s.stopAt(i, beside)
	if !ready {
		if !s.takeOver(ctx, t, i, last, stop) {
			return
		}
		s.logger.Info("group of rules taken over", "group", t.key, "evaluated_until", done, "missed", len(instants)-1)
	}
	t.set(true, math.MaxInt)
	left, ok := s.makeUp(ctx, t, i, instants, stop)
	switch {
	case !ok:
	case left > 0:
		s.postpone(t, left, behind)
	default:
		s.caughtUp(ctx, t, i, len(instants)-1, behind, ready)
	}
}

// stopAt returns when what is missing has to wait for the next present.
func (s *shifts) stopAt(i iteration, beside *present) time.Time {
	interval := i.group.Interval()
	if beside == nil {
		return time.Now().Add(min(interval/2, longestBefore))
	}
	late := min(max(s.now().Sub(i.at), 0), interval)
	return time.Now().Add(interval - late)
}

// makeUp evaluates a group at instants, the last of which is the present, and returns how many are left at a time; one is
// evaluated at least. It is false if it has to be tried again.
func (s *shifts) makeUp(ctx context.Context, t *turn, i iteration, instants []time.Time, stop time.Time) (left int, ok bool) {
	for n, instant := range instants {
		begin := time.Now()
		if !s.once(ctx, t, i, instant) {
			return 0, false
		}
		took, now := time.Since(begin), time.Now()
		if left = len(instants) - 1 - n; left == 0 || now.Add(took).Before(stop) {
			continue
		}
		beside := t.beside(i.group)
		if beside != nil {
			return left, true
		}
		if t.alone || took > i.group.Interval()/4 {
			continue // there is no time for both
		}
		if beside = s.openBeside(ctx, t, i, instant); beside == nil {
			continue
		}
		s.evaluatePresent(ctx, t, beside, i)
		stop = s.stopAt(i, beside)
	}
	return 0, true
}

// postpone notes how many instants are left for later. If they do not become fewer, there is no time for both: the group
// makes them up in one go, and then is at the present itself.
func (s *shifts) postpone(t *turn, left, behind int) {
	if left < behind {
		t.stuck = 0
	} else if t.stuck++; t.stuck >= patienceBehind {
		s.logger.Warn("group of rules has no time for the present and what is missing: alerts are late until it has caught up", "group", t.key, "missing", left)
		t.present.Store(nil)
		t.alone, left = true, math.MaxInt
	}
	t.set(true, left)
}

// caughtUp notes that a group is at the present. What was missed in the meantime is made up the next time, while it
// becomes less.
func (s *shifts) caughtUp(ctx context.Context, t *turn, i iteration, made, behind int, ready bool) {
	if p := t.beside(i.group); p != nil {
		s.endBeside(ctx, t, p, i)
		made = 0
	} else if made >= behind && ready {
		made = 0
	}
	t.forget()
	t.set(true, made)
}

// once evaluates a group at an instant, and notes that. It is false if the group is to be evaluated again at this
// instant: it was stopped, or the store was away.
func (s *shifts) once(ctx context.Context, t *turn, i iteration, at time.Time) bool {
	begin := time.Now()
	p := &pass{turn: t, late: s.now().Sub(at), beside: t.beside(i.group)}
	p.besideWrote = p.beside != nil && p.beside.wrote[at.UnixNano()]
	i.evaluate(context.WithValue(ctx, passKey{}, p), i.group, at)
	if ctx.Err() != nil || !complete(i.group, begin) || t.tryAgain(p.failed.Load()) {
		return false
	}
	if p.beside != nil {
		delete(p.beside.wrote, at.UnixNano())
	}
	return t.note(ctx, at)
}

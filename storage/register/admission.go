package register

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
)

// SeriesLimits bound the series that are made. Series that exist are never touched by them.
type SeriesLimits struct {
	// Active is --write.max-active-series: how many series the process may know, each of which
	// takes some 650 bytes of memory; 0: no limit.
	Active int
	// PerSecond is --write.max-new-series-per-second: how many series may be registered on average;
	// 0: no limit.
	PerSecond int
	// Branches is --write.max-new-branches-per-second: how many branches of trees new series may make
	// on average in addition to 8 each; 0: no limit.
	Branches int
	// Depth is --write.max-path-depth: how many elements the metric of a new series may have between
	// its dots; 0: no limit.
	Depth int
}

// burstSeconds is how long a pause may be made up for at once.
const burstSeconds = 10

// admission lets new series in as far as the limits go. What it cannot let in is refused for good:
// ErrLimit. The zero value has no limits.
type admission struct {
	known   func() int   // units of the series that are known
	made    func() int64 // branches since the start
	now     func() time.Time
	refused [refusalReasons]prometheus.Counter

	mu       sync.Mutex // guards all below
	o        SeriesLimits
	promised int       // units let in that may not be known yet
	tokens   float64   // units that may be made now
	branches float64   // that may be made now beyond the usual ones; below 0 after more than was foreseen
	counted  int64     // branches that were charged, of those that were made
	filled   time.Time // when tokens and branches were right
}

// refusalReason is why a new series was refused.
type refusalReason int

const (
	refusedActive refusalReason = iota
	refusedRate
	refusedUID
	refusedDepth
	refusedBranches
	refusalReasons
)

func (a *admission) init(o SeriesLimits, known func() int, made func() int64, now func() time.Time, reg prometheus.Registerer) {
	a.o, a.known, a.made, a.now, a.filled = o, known, made, now, now()
	a.tokens, a.branches = float64(o.PerSecond*burstSeconds), float64(o.Branches*burstSeconds)
	promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "tsdbridge_store_series_limit", Help: "Series of usual names that may be known (--write.max-active-series); beyond it new ones are refused. 0: no limit.",
	}).Set(float64(o.Active))
	vec := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_store_series_refused_total", Help: "New series refused, each time they came: over a limit, or no UID was left.",
	}, []string{"reason"})
	for reason, name := range [refusalReasons]string{"active", "rate", "uid", "depth", "branches"} {
		a.refused[reason] = vec.WithLabelValues(name)
	}
}

// setLimits changes the limits. Series that were let in stay.
func (a *admission) setLimits(o SeriesLimits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fill()
	if o.PerSecond != a.o.PerSecond {
		a.tokens = float64(o.PerSecond * burstSeconds)
	}
	if o.Branches != a.o.Branches {
		a.branches = float64(o.Branches * burstSeconds)
	}
	a.o = o
}

func (a *admission) limits() SeriesLimits {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.o
}

// promise lets new series in that may take most, and charges them with least; if not, it tells which
// limit does not. What is promised must be kept.
func (a *admission) promise(least, most charge) (reason refusalReason, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fill()
	switch {
	case a.o.Active > 0 && a.known()+a.promised+most.units > a.o.Active:
		return refusedActive, false
	case a.o.PerSecond > 0 && a.tokens < float64(most.units):
		return refusedRate, false
	case a.o.Branches > 0 && most.branches > 0 && a.branches < float64(most.branches):
		return refusedBranches, false
	}
	a.promised += least.units
	a.tokens -= float64(least.units)
	a.branches -= float64(least.branches)
	return 0, true
}

// fill adds what may be made since the last call. It needs mu.
func (a *admission) fill() {
	if a.o.PerSecond == 0 && a.o.Branches == 0 {
		return
	}
	now := a.now()
	passed := now.Sub(a.filled).Seconds()
	a.tokens = min(a.tokens+passed*float64(a.o.PerSecond), float64(a.o.PerSecond*burstSeconds))
	a.branches = min(a.branches+passed*float64(a.o.Branches), float64(a.o.Branches*burstSeconds))
	a.filled = now
}

// keep ends a promise. Of the series that were charged with it so many were made, with so many tags
// beyond the usual ones; the branches that were made since the last call are theirs.
func (a *admission) keep(promised charge, series, tags int) {
	if promised.units == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	made := a.made()
	branches := int(made - a.counted)
	a.counted = made
	actual := chargeOf(series, tags, branches, max(0, branches-usualBranches*series))
	a.promised -= promised.units
	a.tokens += float64(promised.units - actual.units)
	a.branches += float64(promised.branches - actual.branches)
}

func (a *admission) refuse(reason refusalReason, s storage.Series) error {
	a.refused[reason].Inc()
	o := a.limits()
	switch reason {
	case refusedRate:
		return fmt.Errorf("%w: series %s is new, and more than %d are made in a second (--write.max-new-series-per-second)", storage.ErrLimit, shortName(s), o.PerSecond)
	case refusedDepth:
		return fmt.Errorf("%w: series %s is new, and has %d elements, more than %d (--write.max-path-depth)", storage.ErrLimit, shortName(s), depth(s.Metric), o.Depth)
	case refusedBranches:
		return fmt.Errorf("%w: series %s is new and deep, and more than %d further branches are made in a second (--write.max-new-branches-per-second)", storage.ErrLimit, shortName(s), o.Branches)
	}
	return fmt.Errorf("%w: series %s is new, and %d are known already (--write.max-active-series)", storage.ErrLimit, shortName(s), o.Active)
}

// shortName is the beginning of a series' name, for errors.
func shortName(s storage.Series) string {
	const most = 256
	name := s.String()
	if len(name) > most {
		return name[:most] + "..."
	}
	return name
}

// admit refuses what is new and may not be. Mostly the limits allow all, whether they are new or
// not; only where there is not, each is looked at.
func (r *resolution) admit(ctx context.Context) {
	s := r.registrar
	deepest := s.admission.limits().Depth
	least := r.least()
	_, all := s.admission.promise(least, r.most())
	if all {
		r.promised = least
		if !s.anyExhausted() && !r.anyTooDeep(deepest) {
			return
		}
	}
	exists, err := s.catalog.Known(ctx, r.series)
	var fresh []int
	for i := range r.series {
		switch {
		case r.failed(i):
		case err != nil:
			r.fail(i, err)
		case exists[i]:
		case r.tooDeep(i, deepest):
			r.fail(i, s.admission.refuse(refusedDepth, r.series[i]))
		default:
			fresh = append(fresh, i)
		}
	}
	prices := r.prices(fresh)
	for n, i := range fresh {
		r.admitNew(ctx, i, prices[n], all)
	}
}

// admitNew admits series i or refuses it. It asks before any UID is assigned: a series that lacks
// one UID would leave the UIDs of its other names without use.
func (r *resolution) admitNew(ctx context.Context, i int, price charge, promised bool) {
	s := r.registrar
	for _, kind := range storage.NameKinds() {
		exhausted := s.uids.Exhausted(kind)
		if exhausted == nil {
			continue
		}
		uids, err := s.uids.Lookup(ctx, kind, catalog.NamesOf(&r.series[i], kind))
		for _, uid := range uids {
			if uid == "" && err == nil {
				err = classifyUID(exhausted, &r.series[i])
				s.admission.refused[refusedUID].Inc()
			}
		}
		if err != nil {
			r.fail(i, err)
			return
		}
	}
	if promised {
		return // the limits allow all
	}
	reason, ok := s.admission.promise(price, price)
	if !ok {
		r.fail(i, s.admission.refuse(reason, r.series[i]))
		return
	}
	r.promised.units += price.units
	r.promised.branches += price.branches
}

// admitNames lets metrics that have no series yet in as if they were new series, all or none, and
// returns how many those are: metadata make UIDs too.
func (reg *Registrar) admitNames(ctx context.Context, metrics []string) (made int, err error) {
	if reg.admission.limits() == (SeriesLimits{}) {
		return 0, nil
	}
	uids, err := reg.uids.Lookup(ctx, storage.MetricName, metrics)
	if err != nil {
		return 0, err
	}
	last := 0
	for i, uid := range uids {
		if uid == "" {
			made, last = made+1, i
		}
	}
	if made == 0 {
		return 0, nil
	}
	if reason, ok := reg.admission.promise(charge{units: made}, charge{units: made}); !ok {
		return 0, reg.admission.refuse(reason, storage.Series{Metric: metrics[last]})
	}
	return made, nil
}

func (reg *Registrar) anyExhausted() bool {
	for _, kind := range storage.NameKinds() {
		if reg.uids.Exhausted(kind) != nil {
			return true
		}
	}
	return false
}

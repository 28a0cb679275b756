package register

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// SeriesLimits bound the series that are made. Series that exist are never touched by them.
type SeriesLimits struct {
	// Active is --write.max-active-series: how many series the process may know, each of which
	// takes some 650 bytes of memory; 0: no limit.
	Active int
	// PerSecond is --write.max-new-series-per-second: how many series may be registered on average;
	// 0: no limit.
	PerSecond int
}

// burstSeconds is how long a pause may be made up for at once.
const burstSeconds = 10

// admission lets new series in as far as the limits go. What it cannot let in is refused for good:
// ErrLimit. The zero value has no limits.
type admission struct {
	known   func() int // series
	now     func() time.Time
	refused [refusalReasons]prometheus.Counter

	mu       sync.Mutex // guards all below
	o        SeriesLimits
	promised int       // series let in that may not be known yet
	tokens   float64   // series that may be made now
	filled   time.Time // when tokens was right
}

// refusalReason is why a new series was refused.
type refusalReason int

const (
	refusedActive refusalReason = iota
	refusedRate
	refusedUID
	refusalReasons
)

func (a *admission) init(o SeriesLimits, known func() int, now func() time.Time, reg prometheus.Registerer) {
	a.o, a.known, a.now, a.filled, a.tokens = o, known, now, now(), float64(o.PerSecond*burstSeconds)
	promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "tsdbridge_store_series_limit", Help: "Series that the index may have (--write.max-active-series); beyond it new ones are refused. 0: no limit.",
	}).Set(float64(o.Active))
	vec := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_store_series_refused_total", Help: "New series refused, each time they came: over a limit, or no UID was left.",
	}, []string{"reason"})
	for reason, name := range [refusalReasons]string{"active", "rate", "uid"} {
		a.refused[reason] = vec.WithLabelValues(name)
	}
}

// setLimits changes the limits. Series that were let in stay.
func (a *admission) setLimits(o SeriesLimits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.PerSecond != a.o.PerSecond {
		a.filled, a.tokens = a.now(), float64(o.PerSecond*burstSeconds)
	}
	a.o = o
}

func (a *admission) limits() SeriesLimits {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.o
}

// promise lets n new series in; if not, it tells which limit does not. What is promised must be
// kept or returned.
func (a *admission) promise(n int) (reason refusalReason, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.o.PerSecond > 0 {
		now := a.now()
		a.tokens = min(a.tokens+now.Sub(a.filled).Seconds()*float64(a.o.PerSecond), float64(a.o.PerSecond*burstSeconds))
		a.filled = now
	}
	switch {
	case a.o.Active > 0 && a.known()+a.promised+n > a.o.Active:
		return refusedActive, false
	case a.o.PerSecond > 0 && a.tokens < float64(n):
		return refusedRate, false
	}
	a.promised += n
	a.tokens -= float64(n)
	return 0, true
}

// keep ends a promise of n series, of which so many were made.
func (a *admission) keep(n, made int) {
	if n == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.promised -= n
	a.tokens += float64(n - made)
}

func (a *admission) refuse(reason refusalReason, s series.Series) error {
	a.refused[reason].Inc()
	o := a.limits()
	if reason == refusedRate {
		return fmt.Errorf("%w: series %s is new, and more than %d are made in a second (--write.max-new-series-per-second)", series.ErrLimit, shortName(s), o.PerSecond)
	}
	return fmt.Errorf("%w: series %s is new, and %d are known already (--write.max-active-series)", series.ErrLimit, shortName(s), o.Active)
}

// shortName is the beginning of a series' name, for errors.
func shortName(s series.Series) string {
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
	if _, ok := s.admission.promise(len(r.series)); ok {
		r.promised = len(r.series)
		if !s.anyExhausted() {
			return
		}
	}
	exists, err := s.catalog.Known(ctx, r.series)
	for i := range r.series {
		switch {
		case r.failed(i):
		case err != nil:
			r.fail(i, err)
		case exists[i]:
		default:
			r.admitNew(ctx, i)
		}
	}
}

// admitNew admits series i or refuses it. It asks before any UID is assigned: a series that lacks
// one UID would leave the UIDs of its other names without use.
func (r *resolution) admitNew(ctx context.Context, i int) {
	s := r.registrar
	for _, kind := range schema.Kinds() {
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
	if r.promised == len(r.series) {
		return // the limits allow all
	}
	reason, ok := s.admission.promise(1)
	if !ok {
		r.fail(i, s.admission.refuse(reason, r.series[i]))
		return
	}
	r.promised++
}

// admitNames lets metrics that have no series yet in as if they were new series, all or none, and
// returns how many those are: metadata make UIDs too.
func (reg *Registrar) admitNames(ctx context.Context, metrics []string) (made int, err error) {
	if reg.admission.o == (SeriesLimits{}) {
		return 0, nil
	}
	uids, err := reg.uids.Lookup(ctx, schema.Metric, metrics)
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
	if reason, ok := reg.admission.promise(made); !ok {
		return 0, reg.admission.refuse(reason, series.Series{Metric: metrics[last]})
	}
	return made, nil
}

func (reg *Registrar) anyExhausted() bool {
	for _, kind := range schema.Kinds() {
		if reg.uids.Exhausted(kind) != nil {
			return true
		}
	}
	return false
}

// Package rules evaluates recording and alerting rules with the manager of the Prometheus module,
// over the engine and the store of this process. It knows no HTTP and no configuration file.
package rules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promrules "github.com/prometheus/prometheus/rules"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// Options are the settings and the parts of a Service. DefaultOptions sets the settings; the parts
// must be given.
type Options struct {
	// OutageTolerance is --rules.alert.for-outage-tolerance: the state of "for" is restored after an
	// outage that was not longer.
	OutageTolerance time.Duration
	// GracePeriod is --rules.alert.for-grace-period: an alert with a restored state fires after this
	// at the earliest. The state of alerts with a shorter "for" is not restored.
	GracePeriod time.Duration
	// ResendDelay is --rules.alert.resend-delay: how long an alert is not sent again.
	ResendDelay time.Duration
	// QueueCapacity is --alertmanager.notification-queue-capacity: how many alerts wait for an
	// Alertmanager. The oldest give way.
	QueueCapacity int
	// StopTime is how long evaluations may take when the process stops, and then what waits for
	// Alertmanagers.
	StopTime time.Duration

	// Ready returns nil when the store answers queries. Nothing is evaluated before; nil: it does now.
	Ready      func(ctx context.Context) error
	Appendable promstorage.Appendable // durable at Commit
	Queryable  promstorage.Queryable
	Budget     *query.Budget // of all queries
	// Leases are those of the processes that share the store; nil: there is no other one.
	Leases Leases
	Now    func() time.Time // for the leases; nil: time.Now
	// Notify gets alerts in the place of the Alertmanagers of the set; nil: these do.
	Notify      promrules.NotifyFunc
	ExternalURL *url.URL // in templates
	// Link returns where a query is shown to users, for alerts; nil: they have no link.
	Link       func(language, query string) string
	Logger     *slog.Logger
	Registerer prometheus.Registerer // may be nil: no metrics
}

// DefaultOptions returns the settings of Prometheus.
func DefaultOptions() Options {
	return Options{OutageTolerance: time.Hour, GracePeriod: 10 * time.Minute, ResendDelay: time.Minute, QueueCapacity: 10_000, StopTime: 10 * time.Second}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"--rules.alert.for-outage-tolerance", o.OutageTolerance},
		{"--rules.alert.for-grace-period", o.GracePeriod},
		{"--rules.alert.resend-delay", o.ResendDelay},
	} {
		if d.value < 0 {
			return fmt.Errorf("%s must not be negative", d.flag)
		}
	}
	if o.QueueCapacity <= 0 {
		return errors.New("--alertmanager.notification-queue-capacity must be above 0")
	}
	return nil
}

// A Service evaluates a set of rules. It is safe for concurrent use.
type Service struct {
	o          Options
	metrics    *promrules.Metrics
	evaluators atomic.Pointer[Evaluators]
	set        atomic.Pointer[Set]
	manager    atomic.Pointer[promrules.Manager] // nil before Run has begun

	alertmanagers *alertmanagers
	shifts        *shifts

	applying sync.Mutex // held while the manager gets a set
}

// New returns a Service without rules.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	shifts := newShifts(o)
	o.Logger = slog.New(warnings{o.Logger.Handler()})
	s := &Service{o: o, metrics: promrules.NewGroupMetrics(o.Registerer), alertmanagers: newAlertmanagers(o.QueueCapacity, o.Link, o.Registerer, o.Logger), shifts: shifts}
	if s.o.Notify == nil {
		s.o.Notify = s.alertmanagers.notify
	}
	s.set.Store(&Set{})
	return s
}

// Use evaluates a set of rules by evaluators from now on, in the place of the ones from before.
// Alerts stay active where the new set has their rules. It waits until groups that end have been
// evaluated.
func (s *Service) Use(set *Set, e Evaluators) {
	if set == nil {
		set = &Set{}
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	s.set.Store(set)
	s.evaluators.Store(&e)
	if m := s.manager.Load(); m != nil {
		s.apply(m)
	}
}

// apply gives the manager the set. It needs applying.
func (s *Service) apply(m *promrules.Manager) {
	set := s.set.Load()
	if err := s.alertmanagers.use(set.config); err != nil { // the set has been checked: this cannot be
		s.o.Logger.Error("alertmanagers were not applied, those from before hold; report this defect", "err", err)
	}
	err := m.Update(set.interval(), set.files, set.config.ExternalLabels, s.externalURL(), s.iterate)
	if err != nil { // the groups have been parsed: this cannot be
		s.o.Logger.Error("rules were not applied, those from before hold; report this defect", "err", err)
	}
	s.shifts.keepOnly(m.RuleGroups())
}

func (s *Service) externalURL() string {
	if s.o.ExternalURL == nil {
		return ""
	}
	return s.o.ExternalURL.String()
}

// pauses are between attempts at a store that is not there yet.
func pauses() retry.Pauses {
	return retry.Pauses{First: 100 * time.Millisecond, Longest: 5 * time.Second}
}

// Run evaluates until ctx ends. It begins when the store is ready. Evaluations under way may end
// within StopTime.
func (s *Service) Run(ctx context.Context) error {
	noMore, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		s.alertmanagers.run(noMore, s.o.StopTime)
	}()
	defer func() {
		close(noMore)
		<-sent
	}()
	if !retry.Until(ctx, pauses(), func() bool { return s.o.Ready == nil || s.o.Ready(ctx) == nil }) {
		return nil
	}
	evaluating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	options := s.managerOptions(evaluating)
	s.shifts.twin = s.twins(*options)
	m := promrules.NewManager(options)
	s.applying.Lock()
	s.apply(m)
	s.manager.Store(m)
	s.applying.Unlock()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		defer time.AfterFunc(s.o.StopTime, cancel).Stop()
		s.applying.Lock()
		defer s.applying.Unlock()
		m.Stop()
		if s.o.Leases != nil {
			s.shifts.release(evaluating)
		}
	}()
	m.Run() // until Stop
	<-stopped
	return nil
}

func (s *Service) managerOptions(ctx context.Context) *promrules.ManagerOptions {
	queryable := patient{s.o.Queryable, ctx}
	s.shifts.queryable = queryable
	return &promrules.ManagerOptions{
		Context: ctx, ExternalURL: s.o.ExternalURL, QueryFunc: s.ask, NotifyFunc: s.notify,
		Appendable: appendable{s.o.Appendable, s.shifts}, Queryable: queryable,
		OutageTolerance: s.o.OutageTolerance, ForGracePeriod: s.gracePeriod(), ResendDelay: s.o.ResendDelay,
		DefaultRuleQueryOffset: func() time.Duration { return s.set.Load().config.QueryOffset },
		GroupLoader:            loader{s}, RuleDependencyController: independent{},
		Logger: s.o.Logger, Metrics: s.metrics,
	}
}

// gracePeriod is --rules.alert.for-grace-period. With leases the module restores nothing: the one that takes a group
// over does, and makes up what was missed.
func (s *Service) gracePeriod() time.Duration {
	if s.o.Leases != nil {
		return math.MaxInt64
	}
	return s.o.GracePeriod
}

// twins returns what makes second groups of the same rules, which count in no metrics.
func (s *Service) twins(o promrules.ManagerOptions) func(g *promrules.Group) (*promrules.Group, error) {
	o.Metrics, o.Registerer = promrules.NewGroupMetrics(nil), nil
	m := promrules.NewManager(&o)
	return func(g *promrules.Group) (*promrules.Group, error) {
		set := s.set.Load()
		groups, errs := m.LoadGroups(set.interval(), set.config.ExternalLabels, s.externalURL(), nil, false, g.File())
		key := promrules.GroupKey(g.File(), g.Name())
		if len(errs) == 0 && groups[key] == nil {
			errs = append(errs, fmt.Errorf("group %s is not in its file", key))
		}
		return groups[key], errors.Join(errs...)
	}
}

// RuleGroups returns the groups that are evaluated, by file and name. Of one that is behind, it is the group that evaluates
// the present.
func (s *Service) RuleGroups() []*promrules.Group {
	m := s.manager.Load()
	if m == nil {
		return []*promrules.Group{}
	}
	groups := m.RuleGroups()
	for i, g := range groups {
		groups[i] = s.shifts.shown(g)
	}
	return groups
}

// AlertingRules returns the alerting rules that are evaluated, in the order of their files.
func (s *Service) AlertingRules() []*promrules.AlertingRule {
	rules := []*promrules.AlertingRule{}
	for _, g := range s.RuleGroups() {
		for _, r := range g.Rules() {
			if a, ok := r.(*promrules.AlertingRule); ok {
				rules = append(rules, a)
			}
		}
	}
	return rules
}

// warnings leaves out what the module logs about its normal work.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

package rules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/notifier"
	promrules "github.com/prometheus/prometheus/rules"
)

// alertmanagers sends alerts to the Alertmanagers of the configuration by the module's notifier.
type alertmanagers struct {
	manager   *notifier.Manager
	link      func(language, text string) string // may be nil
	languages []string                           // besides PromQL
	targets   chan map[string][]*targetgroup.Group
	ended     context.Context //nolint:containedctx // requests end with it
	end       context.CancelFunc
}

func newAlertmanagers(queue int, link func(language, text string) string, reg prometheus.Registerer, logger *slog.Logger) *alertmanagers {
	a := &alertmanagers{link: link, languages: []string{"graphite", "opentsdb"}, targets: make(chan map[string][]*targetgroup.Group)}
	a.ended, a.end = context.WithCancel(context.Background())
	a.manager = notifier.NewManager(&notifier.Options{
		QueueCapacity: queue, DrainOnShutdown: true, Registerer: reg, Do: a.do,
	}, model.UTF8Validation, logger)
	return a
}

// do sends a request. A queue that is emptied at the end waits for Alertmanagers no longer than until end.
func (a *alertmanagers) do(parent context.Context, client *http.Client, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(parent)
	unbind := context.AfterFunc(a.ended, cancel)
	context.AfterFunc(parent, func() { unbind() })
	return client.Do(req.WithContext(ctx))
}

// run sends until stop is closed, and then what is in the queues, for StopTime at most.
func (a *alertmanagers) run(stop <-chan struct{}, stopTime time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-stop
		defer time.AfterFunc(stopTime, a.end).Stop()
		a.manager.Stop()
	}()
	a.manager.Run(a.targets)
	<-ended
	a.end()
}

// use sends to the Alertmanagers of a set from now on. It needs run.
func (a *alertmanagers) use(c Config) error {
	if err := a.manager.ApplyConfig(c.moduleConfig()); err != nil {
		return err
	}
	select {
	case a.targets <- c.targets():
	case <-a.ended.Done():
	}
	return nil
}

// moduleConfig returns what the notifier reads of a Prometheus' configuration.
func (c Config) moduleConfig() *config.Config {
	return &config.Config{
		GlobalConfig:   config.GlobalConfig{ExternalLabels: c.ExternalLabels, MetricNameValidationScheme: model.UTF8Validation},
		AlertingConfig: c.Alerting,
	}
}

// targets returns the addresses of the Alertmanagers, by the keys of the notifier.
func (c Config) targets() map[string][]*targetgroup.Group {
	all := map[string][]*targetgroup.Group{}
	for key, am := range c.Alerting.AlertmanagerConfigs.ToMap() {
		all[key] = nil
		for _, d := range am.ServiceDiscoveryConfigs {
			if list, ok := d.(discovery.StaticConfig); ok {
				all[key] = append(all[key], list...)
			}
		}
	}
	return all
}

// checkAlerting reports what is wrong with the Alertmanagers: files that cannot be read, addresses
// that cannot be.
func (c Config) checkAlerting() error {
	var errs []error
	for i, am := range c.Alerting.AlertmanagerConfigs {
		if am == nil {
			errs = append(errs, fmt.Errorf("alerting: alertmanager %d is empty", i+1))
			continue
		}
		if _, err := promconfig.NewClientFromConfig(am.HTTPClientConfig, "alertmanager"); err != nil {
			errs = append(errs, fmt.Errorf("alerting: alertmanager %d: %w", i+1, err))
		}
		for _, d := range am.ServiceDiscoveryConfigs {
			list, _ := d.(discovery.StaticConfig)
			for _, group := range list {
				if _, _, err := notifier.AlertmanagerFromGroup(group, am); err != nil {
					errs = append(errs, fmt.Errorf("alerting: alertmanager %d: %w", i+1, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// notify implements rules.NotifyFunc of the module. An alert that fires at an instant that is made up fires now:
// Alertmanager would take the time until when it is valid as its end.
func (s *Service) notify(ctx context.Context, expr string, alerts ...*promrules.Alert) {
	if p := passOf(ctx); p != nil && p.late > 0 {
		for _, a := range alerts { // copies
			a.ValidUntil = a.ValidUntil.Add(p.late)
		}
	}
	if p := passOf(ctx); p != nil && p.beside != nil { // what fires at present did not end in the past
		firing := p.beside.firing()
		alerts = slices.DeleteFunc(alerts, func(a *promrules.Alert) bool { return firing[a.Labels.String()] })
	}
	s.o.Notify(ctx, expr, alerts...)
}

// notify implements rules.NotifyFunc of the module.
func (a *alertmanagers) notify(_ context.Context, expr string, alerts ...*promrules.Alert) {
	all := make([]*notifier.Alert, len(alerts))
	for i, alert := range alerts {
		all[i] = &notifier.Alert{
			Labels: alert.Labels, Annotations: alert.Annotations, GeneratorURL: a.generator(expr),
			StartsAt: alert.FiredAt, EndsAt: alert.ValidUntil,
		}
		if !alert.ResolvedAt.IsZero() {
			all[i].EndsAt = alert.ResolvedAt
		}
	}
	if len(all) > 0 {
		a.manager.Send(all...)
	}
}

// generator returns where the expression of an alert is shown.
func (a *alertmanagers) generator(expr string) string {
	if a.link == nil {
		return ""
	}
	if f, ok := parseForeign(expr, a.languages); ok {
		return a.link(f.language, f.text)
	}
	return a.link(PromQL, expr)
}

// Alertmanagers returns where alerts are sent.
func (s *Service) Alertmanagers() []*url.URL { return s.alertmanagers.manager.Alertmanagers() }

// DroppedAlertmanagers returns the Alertmanagers that relabelling has taken away.
func (s *Service) DroppedAlertmanagers() []*url.URL {
	return s.alertmanagers.manager.DroppedAlertmanagers()
}

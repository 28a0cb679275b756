package adapter

import (
	"cmp"
	"fmt"
	"time"

	"github.com/grafana/regexp"

	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
	"github.com/tsdbridge/tsdbridge/web"
)

// openPrometheus wires Prometheus' protocols to the store.
func (a *Adapter) openPrometheus() error {
	o, err := a.prometheusParts(a.o)
	if err != nil {
		return err
	}
	a.prometheus = prom.New(o)
	a.store.Catalog().OnRename(a.prometheus.DropCaches)
	return nil
}

// prometheusParts returns the settings and parts of Prometheus' protocols.
func (a *Adapter) prometheusParts(all Options) (o prom.Options, err error) {
	o = all.prometheusOptions()
	if o.Origins, err = all.corsOrigin(); err != nil {
		return o, err
	}
	codecs, err := put.ParseCodecs(all.OpenTSDB.HistogramCodecs)
	if err != nil {
		return o, err
	}
	if id, ok := codecs.ID(); ok {
		o.HistogramCodec = &id
	}
	o.Store, o.Documents, o.Catalog = a.store, a.store.Documents(), a.store.Catalog()
	o.Names, o.Budget, o.Running, o.Flags, o.Started, o.Revision = a.names, a.budget, a.running, all.Flags, a.started, revision()
	o.Logger, o.Registerer, o.Gatherer, o.Now = a.o.Logger, a.registry, a.gatherer(), a.o.Now
	o.Write.Refused, o.Elections = a.refused, a.store.Elections()
	o.Steps, o.Paths = liveGraphite{a}, liveGraphite{a}
	if o.Config, err = all.ShownConfig(); err != nil {
		return o, err
	}
	o.LastReload = a.reloader.outcome
	o.Ready = a.Ready
	if leases := a.store.Leases(); leases != nil {
		o.Leases = leases
	}
	o.Rules.Link = func(language, query string) string { return web.QueryURL(o.ExternalURL.String(), language, query) }
	if o.ExternalURL, err = all.alertURL(); err != nil {
		return o, err
	}
	lookback := all.Prometheus.Query.Lookback
	o.Languages = rules.Evaluators{langGraphite: graphiteRules{a, lookback}, langOpenTSDB: opentsdbRules{a, lookback}}
	if o.RuleSet, err = all.ruleSet(); err != nil {
		return o, err
	}
	return o, nil
}

// prometheusOptions returns the settings of Prometheus' protocols, including the limits that hold
// for all languages.
func (o Options) prometheusOptions() prom.Options {
	p := o.Prometheus
	p.Series, p.Write.SeriesCache = o.QuerySeries, o.SeriesCache
	if o.PromConfig != nil {
		p.OTLP.Config = o.PromConfig.OTLPConfig
	}
	p.Query.Admin, p.Query.Lifecycle, p.Query.Retention = o.AdminAPI, o.Lifecycle, o.Retention
	if o.PromConfig != nil {
		global := &o.PromConfig.GlobalConfig
		p.Query.ExternalLabels = global.ExternalLabels.Map()
		p.Query.DefaultStep = cmp.Or(p.Query.DefaultStep, time.Duration(global.EvaluationInterval)) // of subqueries, as in Prometheus
	}
	p.Write.Timeout = o.outlasting(p.Write.Timeout)
	p.Query.Timeout, p.Query.Samples, p.Query.Concurrency = o.QueryTimeout, o.QuerySamples, o.QueryParallel
	p.Read.Timeout, p.Read.Samples, p.Read.Concurrency = o.QueryTimeout, cmp.Or(o.ReadSamples, o.QuerySamples), o.QueryParallel
	return p
}

// outlasting returns a timeout of requests that write: it leaves time for one operation of the store,
// and for the rest of the request.
func (o Options) outlasting(timeout time.Duration) time.Duration {
	return max(timeout, o.StoreTimeout()+5*time.Second)
}

// corsOrigin compiles --web.cors-origin.
func (o Options) corsOrigin() (*regexp.Regexp, error) {
	origins, err := regexp.Compile("^(?:" + o.CORSOrigin + ")$")
	if err != nil {
		return nil, fmt.Errorf("--web.cors-origin: %w", err)
	}
	return origins, nil
}

package query

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/httputil"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/engine"
)

// FederatePath is where other servers of Prometheus scrape what is stored.
const FederatePath = "/federate"

// Federation serves the newest samples of series to other servers of Prometheus, as a Prometheus
// does: those that are not older than the lookback, with their times, and without stale markers.
type Federation struct {
	o      Options
	lists  apiTurns
	parser parser.Parser
	failed prometheus.Counter
	now    func() time.Time
	// flights are scrapes that are being computed, by their selectors as they are written. Each reads
	// the clock, so none joins another that began before it came.
	flights *singleflight.Group[string, promql.Vector]
}

// Federation returns the handler of FederatePath, within the limits of the API.
func (a *API) Federation() *Federation {
	return &Federation{
		o: a.o, lists: a.lists, parser: distinctParser{a.engine.Parser()}, failed: a.federationErrors, now: time.Now,
		flights: singleflight.New[string, promql.Vector](engine.OfOneEvaluation),
	}
}

func newFederationErrors(reg prometheus.Registerer) prometheus.Counter {
	return promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Name: "tsdbridge_federation_errors_total", Help: "Answers of /federate that failed.",
	})
}

// ServeHTTP implements http.Handler.
func (f *Federation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		netserver.RefuseMethod(w, r, "GET, HEAD")
		return
	}
	f.lists.serve(w, r, httputil.CompressionHandler{Handler: http.HandlerFunc(f.answer)})
}

func (f *Federation) answer(w http.ResponseWriter, r *http.Request) {
	r, cancel, err := f.o.bounded(w, r)
	defer cancel()
	if err != nil {
		f.refuse(w, err, http.StatusBadRequest)
		return
	}
	selectors, err := f.parser.ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		f.refuse(w, err, http.StatusBadRequest)
		return
	}
	ctx, listed := f.o.Running.Begin(r.Context(), query.Description{Language: "federation", Text: strings.Join(r.Form["match[]"], ", "), Client: r.RemoteAddr})
	defer listed.End()
	share, err := f.shared(ctx, strings.Join(r.Form["match[]"], "\x00"), selectors)
	if err != nil {
		f.failed.Inc()
		f.refuse(w, err, http.StatusInternalServerError)
		return
	}
	defer share.Release()
	format := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeProtoDelim), expfmt.NewFormat(expfmt.TypeProtoText),
		expfmt.NewFormat(expfmt.TypeProtoCompact), expfmt.NewFormat(expfmt.TypeTextPlain))
	w.Header().Set("Content-Type", string(format))
	families := newFamilies(expfmt.NewEncoder(w, format), format.FormatType(), labels.FromMap(f.o.ExternalLabels))
	if err := families.write(share.Answer); err != nil {
		f.failed.Inc()
		f.o.Logger.DebugContext(r.Context(), "an answer of /federate was not sent whole", "err", err)
		panic(http.ErrAbortHandler) // it must not look complete
	}
}

// refuse answers with an error as text, as Prometheus does here.
func (f *Federation) refuse(w http.ResponseWriter, err error, status int) {
	if own := (httpapi.Error{}); errors.As(err, &own) {
		status = own.Status
	} else if s, ok := httpapi.QueryStatus(err); ok {
		status = s
	}
	http.Error(w, err.Error(), status)
}

// shared returns the newest samples of series, which equal scrapes have too.
func (f *Federation) shared(ctx context.Context, key string, selectors [][]*labels.Matcher) (*singleflight.Share[promql.Vector], error) {
	share, err := f.flights.Do(ctx, key, singleflight.Question[promql.Vector]{Compute: func(ctx context.Context, _ bool) (promql.Vector, error) {
		return f.newest(ctx, selectors)
	}})
	switch {
	case share == nil:
		return nil, httpapi.QueryError(ctx, "federate", err)
	case err != nil:
		share.Release()
		return nil, err
	}
	return share, nil
}

// federatedBytes is about what a sample takes until it is written, without its labels.
const federatedBytes = 96

// newest returns the newest samples of series, sorted by metric.
func (f *Federation) newest(ctx context.Context, selectors [][]*labels.Matcher) (promql.Vector, error) {
	now := f.now()
	start, end := now.Add(-f.o.Lookback).UnixMilli(), now.UnixMilli()
	q, err := f.o.Queryable.Querier(start, end)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	hints := &promstorage.SelectHints{Start: start, End: end}
	sets := make([]promstorage.SeriesSet, 0, len(selectors))
	for _, matchers := range selectors {
		if len(matchers) == 0 {
			continue // nothing to a Prometheus here, and all to our queryable
		}
		sets = append(sets, q.Select(ctx, true, hints, matchers...))
	}
	set := promstorage.NewMergeSeriesSet(sets, 0, promstorage.ChainedSeriesMerge)
	var samples promql.Vector
	var it chunkenc.Iterator
	account := query.AccountOf(ctx)
	for set.Next() {
		s := promql.Sample{Metric: set.At().Labels()}
		it = set.At().Iterator(it)
		found := last(it, &s)
		if err := it.Err(); err != nil {
			return nil, err
		}
		if !found || isStale(s) {
			continue
		}
		if err := account.Take(federatedBytes); err != nil {
			return nil, httpapi.QueryError(ctx, "federate", err)
		}
		samples = append(samples, s)
	}
	if err := set.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(samples, func(a, b promql.Sample) int {
		return cmp.Compare(a.Metric.Get(model.MetricNameLabel), b.Metric.Get(model.MetricNameLabel))
	})
	return samples, nil
}

// last reads to the end of a series, and sets a sample to its last one.
func last(it chunkenc.Iterator, s *promql.Sample) (found bool) {
	kind := chunkenc.ValNone
	for next := it.Next(); next != chunkenc.ValNone; next = it.Next() {
		if kind = next; kind == chunkenc.ValFloat {
			s.T, s.F = it.At()
			continue
		}
		s.T, s.H = it.AtFloatHistogram(nil)
	}
	if kind == chunkenc.ValFloat {
		s.H = nil
	}
	return kind != chunkenc.ValNone
}

func isStale(s promql.Sample) bool {
	if s.H != nil {
		return value.IsStaleNaN(s.H.Sum)
	}
	return value.IsStaleNaN(s.F)
}

package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/graphite/aggregator"
	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// AggregationOptions are the settings of carbon's aggregation.
type AggregationOptions struct {
	// Rules is --carbon.aggregation-rules: a file of carbon; empty: nothing is aggregated.
	Rules string
	// ForwardAll is --carbon.aggregation-forward-all: points are stored themselves, too.
	ForwardAll bool
	// MaxIntervals is --carbon.aggregation-max-intervals, WriteBack --carbon.aggregation-write-back and
	// MaxBytes --carbon.aggregation-max-bytes; see aggregator.Options.
	MaxIntervals int
	WriteBack    time.Duration
	MaxBytes     int64
}

// aggregation computes metrics of carbon's points, and stores them.
type aggregation struct {
	*aggregator.Aggregator
	forwardAll bool
	sink       *sink
	relay      *forwarders   // nil: none
	grace      time.Duration // for the store, when the process is told to stop
	logger     *slog.Logger
	metrics    aggregationMetrics
	outcome    retry.Outcome // of storing
	complaint  retry.Outcome // about memory

	storing sync.Mutex // held while results are computed and stored: those computed last are stored last
	results []aggregator.Result
}

// aggregationMetrics are the counters of an aggregation. Inputs = those aggregated + dropped.
type aggregationMetrics struct {
	inputs, noMemory, missed, unstored, results, lost prometheus.Counter
}

func newAggregation(o AggregationOptions, port Parts, sink *sink, relay *forwarders) *aggregation {
	a := &aggregation{
		forwardAll: o.ForwardAll, sink: sink, relay: relay, grace: port.ShutdownGrace, logger: port.Logger,
		Aggregator: aggregator.New(aggregator.Options{
			MaxIntervals: o.MaxIntervals, WriteBack: int64(o.WriteBack / time.Second), MaxBytes: o.MaxBytes, Now: port.Now,
		}),
	}
	f := promauto.With(port.Registerer)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_carbon_aggregation_" + name, Help: help})
	}
	dropped := f.NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_carbon_aggregation_dropped_inputs_total",
		Help: "Inputs that are in no aggregate: there was no memory (--carbon.aggregation-max-bytes), or a rule takes too long for the name.",
	}, []string{"reason"})
	a.metrics = aggregationMetrics{
		inputs: counter("inputs_total", "Points given to aggregates; one for each aggregate."), noMemory: dropped.WithLabelValues("memory"), missed: dropped.WithLabelValues("rule"),
		unstored: counter("unstored_points_total", "Points that were not stored themselves: without --carbon.aggregation-forward-all, or of a name that is an aggregate of itself."),
		results:  counter("results_total", "Values of aggregates that the store took or refused by name."),
		lost:     counter("lost_results_total", "Values of aggregates lost, since the store did not take them before the process stopped."),
	}
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_carbon_aggregation_" + name, Help: help}, value)
	}
	gauge("outputs", "Aggregates that have values in memory.", func() float64 { n, _ := a.Stats(); return float64(n) })
	gauge("memory_bytes", "Memory of the values of aggregates, about.", func() float64 { _, bytes := a.Stats(); return float64(bytes) })
	return a
}

var errNoMemory = errors.New("--carbon.aggregation-max-bytes is reached")

// passes reports whether points are stored themselves.
func (a *aggregation) passes(route *route) bool {
	return a == nil || a.forwardAll && !route.own
}

// take takes the inputs of a batch. unstored points of it are not stored themselves, and for missed ones a
// rule took too long.
func (a *aggregation) take(inputs []aggregator.Input, unstored, missed int) {
	if a == nil {
		return
	}
	a.metrics.inputs.Add(float64(len(inputs) + missed))
	a.metrics.unstored.Add(float64(unstored))
	a.metrics.missed.Add(float64(missed))
	if len(inputs) == 0 {
		return
	}
	if dropped := a.Add(inputs); dropped > 0 {
		a.metrics.noMemory.Add(float64(dropped))
		if a.complaint.Note(context.Background(), errNoMemory) {
			a.logger.Warn("points are missing in carbon's aggregates; raise --carbon.aggregation-max-bytes, or narrow the rules", "err", errNoMemory)
		}
	}
}

// run stores results until ended is closed: no more points come. Then it stores what there is, and what it
// cannot store for as long as grace is lost.
func (a *aggregation) run(ctx context.Context, ended <-chan struct{}) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	storeCtx, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(a.grace, giveUp) })
	defer stop()
	for {
		select {
		case <-look.C:
			a.store(storeCtx, a.Sweep)
		case <-ended:
			lastCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.grace)
			defer cancel()
			a.store(lastCtx, a.Flush)
			return nil
		}
	}
}

// keep forgets the aggregates of rules that hold no more, and stores what they have.
func (a *aggregation) keep(ctx context.Context, rules *conf.AggregationRules) {
	a.store(ctx, func(results []aggregator.Result) []aggregator.Result { return a.Keep(rules, results) })
}

// resultBatch is how many results are stored at once.
const resultBatch = 8192

// resultPauses are between attempts to store results.
var resultPauses = retry.Pauses{First: 100 * time.Millisecond, Longest: 10 * time.Second}

// store stores results that are computed now.
func (a *aggregation) store(ctx context.Context, compute func(results []aggregator.Result) []aggregator.Result) {
	a.storing.Lock()
	defer a.storing.Unlock()
	a.results = compute(a.results[:0])
	for batch := range slices.Chunk(a.results, resultBatch) {
		points := make([]carbon.Point, len(batch))
		for i, r := range batch {
			points[i] = carbon.Point{Name: []byte(r.Name), Time: r.Time, Value: r.Value}
		}
		if a.relay.wants(relayStored) {
			a.relay.Put(points)
		}
		a.storePoints(ctx, points)
	}
	clear(a.results)
}

func (a *aggregation) storePoints(ctx context.Context, points []carbon.Point) {
	stored := retry.Until(ctx, resultPauses, func() bool {
		err := a.sink.Write(ctx, points)
		if a.outcome.Note(ctx, err) {
			a.logger.WarnContext(ctx, "carbon's aggregates are not stored, they wait in memory; see /-/ready", "err", err)
		}
		return err == nil
	})
	if stored {
		a.metrics.results.Add(float64(len(points)))
		return
	}
	a.metrics.lost.Add(float64(len(points)))
	a.logger.ErrorContext(ctx, "carbon's aggregates are lost, the store did not take them in time; --web.shutdown-grace gives it longer", "points", len(points), "grace", a.grace)
}

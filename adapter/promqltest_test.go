package adapter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/adapter/rangeql"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/translate"
)

// readStore is both ends of a store.
type readStore interface {
	storage.Appender
	storage.Querier
}

// promStorage lets the test suites of the Prometheus module write to a store of ours and read it back.
type promStorage struct {
	*promQueryable
	names    testNames
	appender storage.Appender
}

func newPromStorage(s readStore) *promStorage {
	names, err := translate.New()
	if err != nil {
		panic(err) // There is no rule that could be wrong.
	}
	return newPromStorageOf(s, names, queryLimits{})
}

// testNames are names for both directions.
type testNames interface {
	readTranslator
	FromLabels(labels.Labels) storage.Series
}

func newPromStorageOf(s readStore, names testNames, limits queryLimits) *promStorage {
	return &promStorage{newPromQueryable(s, names, limits), names, s}
}

// openStore opens a store over an engine and waits for its index. It ends with the test.
func openStore(t testing.TB, db kv.KV, change ...func(*storage.Options)) *storage.Store {
	t.Helper()
	return storetest.Start(t, db, change...).Store
}

// readTables are the tables of a store with default names.
func readTables() []kv.Table {
	o := DefaultOptions()
	return o.tables()
}

// readEngines are the engines that need nothing but this process.
var readEngines = map[string]func(testing.TB) kv.KV{
	"memory": func(testing.TB) kv.KV { return kv.NewMem(readTables()...) },
	"embedded": func(t testing.TB) kv.KV {
		e, err := pebble.Open(pebble.Options{InMemory: true, CacheBytes: 1 << 20, Tables: readTables()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e
	},
}

func (*promStorage) StartTime() (int64, error) { return 0, nil }
func (*promStorage) Close() error              { return nil }

func (*promStorage) Appender(context.Context) promstorage.Appender {
	panic("the suites write through AppenderV2")
}

func (p *promStorage) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return &promAppender{promStorage: p, context: func() context.Context { return ctx }}
}

// promAppender collects samples and appends them in one batch.
type promAppender struct {
	*promStorage
	context func() context.Context
	batch   storage.Batch
}

func (a *promAppender) Append(_ promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	refs, errs := a.appender.Resolve(a.context(), []storage.Series{a.promStorage.names.FromLabels(ls)})
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	object := func(kind storage.Kind, time int64, data []byte) {
		a.batch.AddObject(refs[0], time, kind, data)
	}
	switch {
	case fh != nil:
		object(storage.KindHistogram, t, encodeFloatHistogram(fh))
	case h != nil:
		object(storage.KindHistogram, t, encodeHistogram(h))
	default:
		a.batch.Add(refs[0], t, v)
	}
	if st != 0 {
		object(storage.KindStartTime, t, encodeStartTime(st-t))
	}
	for _, e := range o.Exemplars {
		object(storage.KindExemplar, e.Ts, encodeExemplar(e))
	}
	return promstorage.SeriesRef(refs[0]), nil
}

func (a *promAppender) Commit() error   { return a.appender.Append(a.context(), &a.batch) }
func (a *promAppender) Rollback() error { return nil }

// builtinEvals is how many evaluations the module's suite makes; each is a subtest that must pass.
const builtinEvals = 2243

func TestPromQL(t *testing.T) {
	exprs, err := promqltest.GetBuiltInExprs()
	if err != nil {
		t.Fatal(err)
	}
	if len(exprs) != builtinEvals {
		t.Errorf("the suite has %d evaluations, want %d", len(exprs), builtinEvals)
	}
	library := promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery)
	registry := prometheus.NewRegistry()
	engine := rangeql.New(rangeql.Options{
		Library: library, DelayedNames: true, StartTimes: true, MaxSamples: promqltest.DefaultMaxSamplesPerQuery, Registerer: registry,
	})
	for name, open := range readEngines {
		t.Run(name, func(t *testing.T) {
			promqltest.RunBuiltinTestsWithStorage(t, engine, func(t testing.TB) promstorage.Storage {
				return newPromStorage(openStore(t, open(t)))
			})
		})
	}
	// Through log and head: all of it in memory, and flushed while it is read.
	for name, delay := range map[string]time.Duration{"head": 1 << 60, "head and table": 0} {
		t.Run(name, func(t *testing.T) {
			promqltest.RunBuiltinTestsWithStorage(t, engine, func(t testing.TB) promstorage.Storage {
				return newPromStorage(openStore(t, kv.NewMem(readTables()...), func(o *storage.Options) {
					o.Mode = storage.WriteBuffered
					o.Buffer.Dir, o.Buffer.FS, o.Buffer.SegmentBytes = "log", logtest.New(1), 64<<10
					o.Buffer.FlushDelay, o.Buffer.FlushInterval, o.Buffer.CheckInterval = delay, 1<<60, time.Millisecond
				}))
			})
		})
	}
	fromColumns := queriesBy(t, registry, "columns")
	if fromColumns < builtinEvals {
		t.Errorf("only %v queries of five suites were answered from columns", fromColumns)
	}
}

// queriesBy counts the queries that were answered in one of the ways of rangeql.
func queriesBy(t testing.TB, g prometheus.Gatherer, path string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "tsdbridge_queries_total" && m.GetLabel()[0].GetValue() == path {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

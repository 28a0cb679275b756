package query

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
)

// A histogramWorld is a store with histograms of OpenTSDB, and one with the same as native histograms.
type histogramWorld struct {
	t            *testing.T
	theirs, ours *store.Store
	names        *translate.Translator
	engine       string
	askTheirs    func(request string) string
	askOurs      func(request string) string
	refsA, refsB []storage.Ref
	rng          *rand.Rand
}

const histogramCodec = 3

func newHistogramWorld(t *testing.T, tables string, engine string) *histogramWorld {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &histogramWorld{t: t, names: names, engine: engine, rng: rand.New(rand.NewPCG(3, 4))}
	w.theirs, w.ours = promtest.OpenStore(t, promtest.Engines()[tables](t)), promtest.OpenStore(t, promtest.Engines()[tables](t))
	w.askTheirs, w.askOurs = w.api(queryable.WithHistograms(w.theirs, histogramCodec)), w.api(w.ours)
	var list []storage.Series
	for i := range 4 {
		list = append(list, names.FromLabels(labels.FromStrings("__name__", "h", "host", fmt.Sprint(i))))
	}
	for _, of := range []struct {
		store *store.Store
		refs  *[]storage.Ref
	}{{w.theirs, &w.refsA}, {w.ours, &w.refsB}} {
		refs, errs := of.store.Resolve(t.Context(), list)
		if errs != nil {
			t.Fatal(errs)
		}
		*of.refs = refs
	}
	return w
}

// api returns what asks the API over a store.
func (w *histogramWorld) api(q storage.Querier) func(request string) string {
	o := DefaultOptions()
	o.Queryable, o.Names, o.Budget, o.Engine, o.CacheBytes = queryable.New(q, w.names, queryable.Limits{}), w.names, query.NewBudget(1<<30), w.engine, 0
	return w.ask(o)
}

// ask returns what asks an API.
func (w *histogramWorld) ask(o Options) func(request string) string {
	api := New(o)
	return func(request string) string {
		r := httptest.NewRequest(http.MethodGet, Prefix+request, nil)
		account := o.Budget.Open()
		defer account.Close()
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, r.WithContext(query.WithAccount(r.Context(), account)))
		if answer.Code != http.StatusOK {
			w.t.Fatalf("%s: %d %s", request, answer.Code, answer.Body)
		}
		return withSortedNotes(w.t, answer.Body.Bytes())
	}
}

// withSortedNotes orders the warnings of an answer, whose order is random.
func withSortedNotes(t *testing.T, body []byte) string {
	t.Helper()
	var answer struct {
		Data            json.RawMessage
		Warnings, Infos []string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	slices.Sort(answer.Warnings)
	slices.Sort(answer.Infos)
	return fmt.Sprintf("%s warnings %q infos %q", answer.Data, answer.Warnings, answer.Infos)
}

const histogramsFrom = 1_700_000_000 // seconds

// write writes the histograms of some minutes, and now and then a float at the same time or in between.
func (w *histogramWorld) write(from, to int) {
	w.t.Helper()
	var coded []storage.CodedHistogram
	var a, b storage.Batch
	for i := range w.refsA {
		h := schema.SimpleHistogram{}
		for minute := from; minute < to; minute++ {
			if w.rng.IntN(40) == 0 {
				h = schema.SimpleHistogram{} // a reset
			}
			if len(h.Buckets) == 0 {
				h.Buckets = []schema.HistogramBucket{{Lower: 0, Upper: 1}, {Lower: 1, Upper: 2.5}, {Lower: 4, Upper: 10}}[:2+w.rng.IntN(2)]
			} else {
				h.Buckets = append([]schema.HistogramBucket{}, h.Buckets...)
			}
			for n := range h.Buckets {
				h.Buckets[n].Count += w.rng.Int64N(20)
			}
			h.Underflow += w.rng.Int64N(2)
			h.Overflow += w.rng.Int64N(3)
			at := int64(histogramsFrom+60*minute)*1000 + int64(i)*500
			native, ok := histogramcodec.FromOpenTSDB(&h)
			if !ok {
				w.t.Fatal("no native histogram")
			}
			coded = append(coded, storage.CodedHistogram{Ref: w.refsA[i], Time: at, Value: h.AppendTo([]byte{histogramCodec})})
			switch w.rng.IntN(30) {
			case 0: // the float counts
				a.Add(w.refsA[i], at, 5)
				b.Add(w.refsB[i], at, 5)
				continue
			case 1:
				a.Add(w.refsA[i], at+10_000, 6)
				b.Add(w.refsB[i], at+10_000, 6)
			}
			b.AddObject(w.refsB[i], at, storage.KindHistogram, histogramcodec.EncodeHistogram(native))
		}
	}
	if err := w.theirs.PutHistograms(w.t.Context(), coded); err != nil {
		w.t.Fatal(err)
	}
	if err := w.theirs.Append(w.t.Context(), &a); err != nil {
		w.t.Fatal(err)
	}
	if err := w.ours.Append(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
}

// TestHistogramsOfOpenTSDB: queries answer with histograms of OpenTSDB as with the same native histograms.
func TestHistogramsOfOpenTSDB(t *testing.T) {
	for _, tables := range []string{"memory", "embedded"} {
		for _, engine := range []string{EngineColumns, EnginePrometheus} {
			t.Run(tables+" "+engine, func(t *testing.T) {
				w := newHistogramWorld(t, tables, engine)
				const minutes = 180
				w.write(0, 90)
				w.write(90, minutes)
				for _, q := range []string{
					`h`, `histogram_quantile(0.9, h)`, `rate(h[5m])`, `histogram_quantile(0.5, sum by (host) (rate(h[10m])))`, `sum(h)`, `histogram_count(h)`,
					`histogram_fraction(0, 1, h)`, `avg(h)`, `increase(h[30m])`, `sum_over_time(h[10m])`, `last_over_time(h[3m])`, `count_over_time(h[1h])`,
					`h{host="2"} offset 10m`, `histogram_quantile(0.99, sum(increase(h[1h])))`, `resets(h[1h])`, `-h`, `h * 2`, `max(histogram_count(h))`,
				} {
					query := "?query=" + url.QueryEscape(q)
					for n := range 12 {
						at := fmt.Sprint(histogramsFrom + 60*minutes*n/11 - 30)
						for _, request := range []string{"query" + query + "&time=" + at, "query_range" + query + "&start=" + at + "&end=" + fmt.Sprint(histogramsFrom+60*minutes) + "&step=93"} {
							if got, want := w.askTheirs("/"+request), w.askOurs("/"+request); got != want {
								t.Fatalf("%s:\n%.1500s\nwant\n%.1500s", request, got, want)
							}
						}
					}
				}
				if got := w.askTheirs("/query?query=h&time=" + fmt.Sprint(histogramsFrom+600)); !strings.Contains(got, `"histogram":`) {
					t.Errorf("no histogram in %.500s", got)
				}
			})
		}
	}
}

// TestHistogramsWithoutAMeaning: those that are no native histograms are left out, and the answer says so.
func TestHistogramsWithoutAMeaning(t *testing.T) {
	for _, engine := range []string{EngineColumns, EnginePrometheus} {
		w := newHistogramWorld(t, "memory", engine)
		good := schema.SimpleHistogram{Buckets: []schema.HistogramBucket{{Lower: 0, Upper: 1, Count: 5}}}
		bad := schema.SimpleHistogram{Buckets: []schema.HistogramBucket{{Lower: 0, Upper: 2, Count: 1}, {Lower: 1, Upper: 3, Count: 1}}}
		put := func(ref storage.Ref, second int64, value []byte) {
			if err := w.theirs.PutHistograms(t.Context(), []storage.CodedHistogram{{Ref: ref, Time: second * 1000, Value: value}}); err != nil {
				t.Fatal(err)
			}
		}
		put(w.refsA[0], histogramsFrom, good.AppendTo([]byte{histogramCodec}))
		put(w.refsA[1], histogramsFrom, bad.AppendTo([]byte{histogramCodec}))
		put(w.refsA[2], histogramsFrom, good.AppendTo([]byte{histogramCodec + 1})) // of another codec
		put(w.refsA[3], histogramsFrom-120, good.AppendTo([]byte{histogramCodec}))
		put(w.refsA[3], histogramsFrom-60, bad.AppendTo([]byte{histogramCodec}))
		for _, request := range []string{"/query?time=%d&query=%s", "/query_range?start=%[1]d&end=%[1]d&step=60&query=%s"} {
			for _, q := range []string{"h", "histogram_quantile(0.5,h)", "sum(rate(h[5m]))"} {
				got := w.askTheirs(fmt.Sprintf(request, histogramsFrom, url.QueryEscape(q)))
				for host, warned := range map[string]bool{"0": false, "1": true, "2": true, "3": true} {
					if strings.Contains(got, `{__name__=\"h\", host=\"`+host+`\"}`) != warned {
						t.Errorf("%s %s: warning of %s: want %v: %s", engine, q, host, warned, got)
					}
				}
			}
		}
		if got := w.askTheirs(fmt.Sprintf("/query?time=%d&query=h", histogramsFrom)); strings.Count(got, `"histogram":`) != 2 {
			t.Errorf("%s: %s", engine, got)
		}
		if got := w.askTheirs(fmt.Sprintf("/query?time=%d&query=%s", histogramsFrom, url.QueryEscape(`h{host="0"}`))); !strings.Contains(got, "warnings []") {
			t.Errorf("%s: %s", engine, got)
		}
	}
}

// TestKeptAnswersFollowHistograms: an answer that is kept shows histograms that come late.
func TestKeptAnswersFollowHistograms(t *testing.T) {
	w := newHistogramWorld(t, "memory", EngineColumns)
	w.write(0, 60)
	o := DefaultOptions()
	o.Queryable = queryable.New(queryable.WithHistograms(w.theirs, histogramCodec), w.names, queryable.Limits{})
	o.Names, o.Budget, o.Changes = w.names, query.NewBudget(1<<30), w.theirs
	ask := w.ask(o)
	request := "/query_range?step=60&query=" + url.QueryEscape("histogram_count(h)") + "&start=" + fmt.Sprint(histogramsFrom) + "&end=" + fmt.Sprint(histogramsFrom+60*60)
	first := ask(request)
	if again := ask(request); again != first {
		t.Fatal("two answers to one query")
	}
	late := schema.SimpleHistogram{Buckets: []schema.HistogramBucket{{Lower: 0, Upper: 1, Count: 77_777}}}
	at := int64(histogramsFrom+60*30) * 1000 // that of a step
	if err := w.theirs.PutHistograms(t.Context(), []storage.CodedHistogram{{Ref: w.refsA[0], Time: at, Value: late.AppendTo([]byte{histogramCodec})}}); err != nil {
		t.Fatal(err)
	}
	got, want := ask(request), ask(request+"&nocache=1")
	if got != want {
		t.Errorf("kept:\n%.1000s\nwant\n%.1000s", got, want)
	}
	if want == first {
		t.Error("the late histogram is in no step")
	}
}

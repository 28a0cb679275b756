package query

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/lookback"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// fixedSteps are the steps of series.
type fixedSteps map[storage.Ref]int64

func (s fixedSteps) Steps(_ context.Context, names map[storage.Ref]string, _, _ int64) (map[storage.Ref]int64, error) {
	found := map[storage.Ref]int64{}
	for ref := range names {
		if step, ok := s[ref]; ok {
			found[ref] = step
		}
	}
	return found, nil
}

// lookbackSteps are the steps of the test's series in seconds.
var lookbackSteps = []int64{15, 60, 300, 900, 3600, 86400}

const lookbackBegin = 1_700_000_000

// lookbackAPI returns APIs over one store of series m{i="0"}, ... with points at their steps, some of
// which are missing: one for each engine.
func lookbackAPI(t *testing.T, rules ...string) map[string]*API {
	t.Helper()
	return lookbackAPIOf(t, func(s fixedSteps) lookback.Steps { return s }, rules...)
}

// lookbackAPIOf is the same with something that tells the steps.
func lookbackAPIOf(t *testing.T, stepsOf func(fixedSteps) lookback.Steps, rules ...string) map[string]*API {
	t.Helper()
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	r, steps := rand.New(rand.NewPCG(1, 2)), fixedSteps{}
	var b storage.Batch
	for i, step := range lookbackSteps {
		refs, errs := store.Resolve(t.Context(), []storage.Series{names.FromLabels(labels.FromStrings("__name__", "m", "i", fmt.Sprint(i)))})
		if errs != nil {
			t.Fatal(errs)
		}
		steps[refs[0]] = step
		for s := int64(0); s < 3*86400; s += step {
			if r.IntN(8) > 0 && s/7200%5 != int64(i)%5 {
				b.Add(refs[0], (lookbackBegin+s)*1000+r.Int64N(2000), float64(s%977))
			}
		}
	}
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	apis := map[string]*API{}
	for _, engine := range []string{EngineColumns, EnginePrometheus} {
		o := DefaultOptions()
		o.Queryable, o.Names, o.Changes, o.Budget = queryable.New(store, names, queryable.Limits{}), names, store, query.NewBudget(1<<30)
		o.Engine, o.Steps, o.Lookbacks = engine, stepsOf(steps), rules
		o.Features = []string{FeatureRangeSelectors}
		registry := prometheus.NewRegistry()
		o.Registerer, o.Gatherer = registry, registry
		apis[engine] = New(o)
	}
	return apis
}

// askRange returns the result of a range query as text.
func askRange(t *testing.T, api *API, query string, start, end, step int64, more ...string) string {
	t.Helper()
	form := url.Values{"query": {query}, "start": {fmt.Sprint(start)}, "end": {fmt.Sprint(end)}, "step": {fmt.Sprint(step)}}
	path := "/query_range?"
	if step == 0 {
		form, path = url.Values{"query": {query}, "time": {fmt.Sprint(start)}}, "/query?"
	}
	for i := 0; i < len(more); i += 2 {
		form.Add(more[i], more[i+1])
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Prefix+path+form.Encode(), nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLookbackBySeries: each series alone has the answer that Prometheus' engine gives with its lookback.
func TestLookbackBySeries(t *testing.T) {
	apis := lookbackAPI(t, "m=step")
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		i := r.IntN(len(lookbackSteps))
		query := fmt.Sprintf([]string{
			`m{i="%d"}`, `timestamp(m{i="%d"}) offset 7m`, `-m{i="%d"} * 2`, `count_over_time(m{i="%d"}[3h])`, `max_over_time(m{i="%d"}[2h:7m])`, `absent(m{i="%d"})`,
			`m{i="%d"} @ 1700050000`,
		}[r.IntN(7)], i)
		query = strings.Replace(query, ") offset 7m", " offset 7m)", 1)
		start := lookbackBegin + r.Int64N(3*86400)
		step := []int64{0, 60, 301, 3600}[r.IntN(4)]
		delta := max(2*lookbackSteps[i], 300)
		want := askRange(t, apis[EnginePrometheus], query, start, start+50*step, step, "lookback", "off", "lookback_delta", fmt.Sprint(min(delta, 48*3600)))
		if !strings.Contains(want, "success") {
			t.Fatal(query, want)
		}
		for engine, api := range apis {
			if got := askRange(t, api, query, start, start+50*step, step); got != want {
				t.Fatalf("%s: %s from %d by %d:\n%.400s\nwant\n%.400s", engine, query, start, step, got, want)
			}
		}
	}
}

// TestLookbackTogether: both engines agree about queries of many series.
func TestLookbackTogether(t *testing.T) {
	apis := lookbackAPI(t, "m=step")
	r := rand.New(rand.NewPCG(5, 6))
	changed := 0
	for range 150 {
		query := []string{
			`sum(m)`, `m`, `count by (i) (m) or rate(m[1h])`, `m{i=~"[0-3]"} / on(i) group_left m`, `topk(2, m)`, `quantile(0.5, m offset 20m)`,
			`sum_over_time(m[30m]) + on (i) m`, `avg_over_time(sum(m)[6h:11m])`,
		}[r.IntN(8)]
		start := lookbackBegin + r.Int64N(3*86400)
		step := []int64{0, 60, 301, 3600}[r.IntN(4)]
		got := askRange(t, apis[EngineColumns], query, start, start+40*step, step)
		if want := askRange(t, apis[EnginePrometheus], query, start, start+40*step, step); got != want || !strings.Contains(want, "success") {
			t.Fatalf("%s from %d by %d:\n%.400s\nwant\n%.400s", query, start, step, got, want)
		}
		if got != askRange(t, apis[EngineColumns], query, start, start+40*step, step, "lookback", "off") {
			changed++
		}
	}
	if changed < 50 {
		t.Errorf("%d answers depend on the lookback", changed)
	}
}

// TestLookbackParameter: rules of a request, a duration that is shorter than Prometheus' own, and
// what turns the rules of the flags off.
func TestLookbackParameter(t *testing.T) {
	apis := lookbackAPI(t, "m=step")
	api := apis[EngineColumns]
	at := int64(lookbackBegin + 2*86400 + 3000) // 50 minutes after the last point of an hour
	count := func(more ...string) string {
		text := askRange(t, api, `count(m{i=~"[45]"})`, at, at, 0, more...)
		_, after, _ := strings.Cut(text, `"value":[`+fmt.Sprint(at)+`,"`)
		n, _, _ := strings.Cut(after, `"`)
		return n
	}
	for want, more := range map[string][]string{
		count("lookback_delta", "172800"): {"lookback", "48h"},
		"":                                {"lookback_delta", "300"},
		count("lookback", "off"):          {"lookback", "other=step"},
		count():                           {"lookback", "x=1h", "lookback", "step"},
	} {
		if got := count(more...); got != want {
			t.Errorf("%v: %q, want %q", more, got, want)
		}
	}
	if text := askRange(t, api, "m", at, at, 0, "lookback", "m=never"); !strings.Contains(text, `"errorType":"bad_data"`) || !strings.Contains(text, `invalid parameter \"lookback\"`) {
		t.Error(text)
	}
	// What is compiled for a request is bounded.
	if text := askRange(t, api, "m", at, at, 0, "lookback", strings.Repeat("m[a-y]{1000}|", 2000)+"x=step"); !strings.Contains(text, "bad_data") || !strings.Contains(text, "repeat too much") {
		t.Errorf("%.300s", text)
	}
	short := askRange(t, api, `m{i="0"}`, at-3600, at, 5, "lookback", "7s")
	if want := askRange(t, api, `m{i="0"}`, at-3600, at, 5, "lookback_delta", "7"); short != want || strings.Contains(short, `"result":[]`) {
		t.Errorf("a short lookback:\n%.300s\nwant\n%.300s", short, want)
	}
}

// TestLookbackApart: among others a series has the values that it has alone.
func TestLookbackApart(t *testing.T) {
	apis := lookbackAPI(t, "m=step")
	r := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		start, step := lookbackBegin+r.Int64N(3*86400), []int64{0, 1, 7, 60, 601}[r.IntN(5)]
		for engine, api := range apis {
			together := seriesOf(t, askRange(t, api, `m or absent(m)`, start, start+300*step, step))
			for i, own := range lookbackSteps {
				alone := seriesOf(t, askRange(t, apis[EnginePrometheus], fmt.Sprintf(`m{i="%d"}`, i), start, start+300*step, step,
					"lookback", "off", "lookback_delta", fmt.Sprint(min(max(2*own, 300), 48*3600))))
				name := fmt.Sprint(i)
				if together[name] != alone[name] {
					t.Fatalf("%s: i=%d from %d by %d:\n%.300s\nwant\n%.300s", engine, i, start, step, together[name], alone[name])
				}
			}
		}
	}
}

// seriesOf returns the values of an answer by the label i.
func seriesOf(t *testing.T, answer string) map[string]string {
	t.Helper()
	var reply struct {
		Data struct {
			Result []struct {
				Metric        map[string]string
				Value, Values json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &reply); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, s := range reply.Data.Result {
		all[s.Metric["i"]] = string(s.Value) + string(s.Values)
	}
	return all
}

// TestLookbackOfRulesAndExplanations: what rules evaluate, and what is explained, has the lookbacks of queries.
func TestLookbackOfRulesAndExplanations(t *testing.T) {
	at := int64(lookbackBegin + 2*86400 + 3000) // 50 minutes after the last point of an hour
	for engine, api := range lookbackAPI(t, "m=step") {
		want := len(seriesOf(t, askRange(t, api, "m", at, at, 0)))
		without := len(seriesOf(t, askRange(t, api, "m", at, at, 0, "lookback", "off")))
		if without == want {
			t.Fatalf("%d series with and without the rules", want)
		}
		v, err := api.Instant(query.WithAccount(t.Context(), query.NewBudget(1<<30).Open()), "m", "a test", time.Unix(at, 0))
		if err != nil || len(v) != want {
			t.Errorf("%s: a rule: %v, %v, want %d series", engine, v, err, want)
		}
		for more, want := range map[string]int{"": want, "&lookback=off": without, "&lookback=1s": 0} {
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("%s?query=m&time=%d%s", explainPath, at, more), nil))
			var x struct{ Data query.Explanation }
			if err := json.Unmarshal(w.Body.Bytes(), &x); err != nil || x.Data.Series != want || len(x.Data.Reads) == 0 {
				t.Errorf("%s: %s: %v %s, want %d series", engine, more, err, w.Body, want)
			}
		}
	}
}

// TestLookbackOfComputedDurations: series are found where computed durations reach.
func TestLookbackOfComputedDurations(t *testing.T) {
	apis := lookbackAPI(t, "m=step")
	at := int64(lookbackBegin + 12*86400)
	for _, query := range []string{`m{i="4"} offset (24h*10)`, `sum_over_time(m{i="4"}[(24h*11):15m])`, `sum_over_time(m{i="4"}[1h:15m] offset (24h*10))`} {
		for _, step := range []int64{0, 300} {
			want := askRange(t, apis[EnginePrometheus], query, at, at+50*step, step, "lookback", "off", "lookback_delta", "7200")
			plain := askRange(t, apis[EnginePrometheus], query, at, at+50*step, step, "lookback", "off")
			for engine, api := range apis {
				if got := askRange(t, api, query, at, at+50*step, step); got != want || got == plain {
					t.Errorf("%s: %s by %d:\n%.300s\nwant\n%.300s", engine, query, step, got, want)
				}
			}
		}
	}
}

// TestLookbackOfExtendedRanges: rules do not change how far other ranges reach, and the answer tells that they do not count.
func TestLookbackOfExtendedRanges(t *testing.T) {
	at := int64(lookbackBegin + 2*86400 + 3000)
	for engine, api := range lookbackAPI(t, "m=step") {
		for _, kind := range []string{"anchored", "smoothed"} {
			query := fmt.Sprintf(`increase(m{i="3"}[20m] %s) or m{i="4"}`, kind)
			got, want := askRange(t, api, query, at, at, 0), askRange(t, api, query, at, at, 0, "lookback", "off")
			const info = `"PromQL info: rules of lookback do not count in queries with anchored or smoothed"`
			if shown := strings.NewReplacer(","+info, "", info+",", "").Replace(got); shown == got || shown != want {
				t.Errorf("%s: %s: %s, want %s and an info", engine, query, got, want)
			}
			alone := fmt.Sprintf(`increase(m{i="3"}[20m] %s)`, kind)
			if got, want := askRange(t, api, alone, at, at, 0), askRange(t, api, alone, at, at, 0, "lookback", "off"); got != want {
				t.Errorf("%s: %s: %s, want %s", engine, alone, got, want)
			}
		}
	}
}

// askedSteps notes the begin of the time from which steps may follow.
type askedSteps struct {
	fixedSteps
	begin atomic.Int64
}

func (s *askedSteps) Steps(ctx context.Context, names map[storage.Ref]string, start, end int64) (map[storage.Ref]int64, error) {
	s.begin.Store(start)
	return s.fixedSteps.Steps(ctx, names, start, end)
}

// TestLookbackLooksForSteps: of a series with a point a day, of which the newest one still counts, there are at least two
// points in the time in which its step is looked for.
func TestLookbackLooksForSteps(t *testing.T) {
	asked := &askedSteps{}
	apis := lookbackAPIOf(t, func(s fixedSteps) lookback.Steps { asked.fixedSteps = s; return asked }, "m=step")
	at := int64(lookbackBegin + 3*86400)
	askRange(t, apis[EngineColumns], "m", at, at, 0)
	if most := (at - 2*86400 - 86400) * 1000; asked.begin.Load() > most {
		t.Errorf("points from %d on, want %d", asked.begin.Load(), most)
	}
}

// TestLookbackReadsNoMore: a series with points that come seldom does not make the others be read as far back as itself.
func TestLookbackReadsNoMore(t *testing.T) {
	api := lookbackAPI(t, "m=step")[EngineColumns]
	at := int64(lookbackBegin + 2*86400 + 60)
	read := func(expr string, step int64, more string) int64 {
		t.Helper()
		form := fmt.Sprintf("?query=%s&time=%d%s", url.QueryEscape(expr), at, more)
		if step > 0 {
			form = fmt.Sprintf("?query=%s&start=%d&end=%d&step=%d%s", url.QueryEscape(expr), at, at+3600, step, more)
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, explainPath+form, nil))
		var x struct{ Data query.Explanation }
		if err := json.Unmarshal(w.Body.Bytes(), &x); err != nil || len(x.Data.Reads) != 1 {
			t.Fatalf("%v: %s", err, w.Body)
		}
		return x.Data.Reads[0].Samples
	}
	for _, step := range []int64{0, 60} {
		alone := int64(0)
		for i, own := range lookbackSteps {
			alone += read(fmt.Sprintf(`m{i="%d"}`, i), step, fmt.Sprintf("&lookback=%ds", min(max(2*own, 300), 48*3600)))
		}
		if together := read("m", step, ""); together > alone+int64(len(lookbackSteps)) { // and the markers
			t.Errorf("step %d: %d samples, want %d", step, together, alone)
		}
		if all := read("m", step, "&lookback=48h"); all < 10*alone {
			t.Errorf("step %d: %d samples within 48 hours, and %d within lookbacks of their own", step, all, alone)
		}
	}
}

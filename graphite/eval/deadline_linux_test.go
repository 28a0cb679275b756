package eval

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// A watched context measures how much computing there is between two looks at it. It belongs to the thread
// that computes.
type watched struct {
	context.Context

	looks   int
	last    time.Duration
	longest time.Duration
}

func (w *watched) Err() error {
	now := threadTime()
	w.longest = max(w.longest, now-w.last)
	w.last = now
	w.looks++
	return nil
}

// threadTime is what the thread has computed so far: other processes, however many, are not in it.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// named are series that are found by their names, and all of them by another one.
type named wide

func (n named) Fetch(ctx context.Context, list []Fetch) ([][]*series.Series, error) {
	out, err := wide(n).Fetch(ctx, list)
	for i, f := range list {
		if at, of := strings.CutPrefix(f.Pattern, "s"); of {
			if number, err := strconv.Atoi(at); err == nil && number < len(n) {
				out[i] = n[number : number+1]
			}
		}
	}
	return out, err
}

// argumentsOf are arguments of functions whose parameters' types say too little.
var argumentsOf = map[string]string{
	"aliasQuery": "%s,'(.+)','s0','x'", "applyByNode": "%s,0,'scale(%%,2)'", "groupByNode": "%s,0,'sum'", "mapSeries": "%s,0", "map": "%s,0",
	"reduceSeries": "mapSeries(%s,0),'asPercent',0,'s0','s1'", "reduce": "mapSeries(%s,0),'asPercent',0,'s0','s1'", "timeSlice": "%s,'00:00 19700101'",
	"seriesByTag": "'name=a'", "smartSummarize": "%s,'1min'", "summarize": "%s,'1min'", "hitcount": "%s,'1min'", "divideSeries": "%[1]s,limit(%[1]s,1)",
	"timeStack": "%s,'1s',0,3", "useSeriesAbove": "%s,1,'s','s'", "weightedAverage": "%[1]s,%[1]s,0", "substr": "%s,0,1", "time": "'x',60", "timeFunction": "'x',60",
	"sin": "'x',1,60", "sinFunction": "'x',1,60", "randomWalk": "'x',60", "randomWalkFunction": "'x',60", "verticalLine": "'00:01 19700101'", "events": "'a'",
	"holtWintersForecast": "%s,'1h','1h'", "holtWintersConfidenceBands": "%s,3,'1h','1h'", "holtWintersConfidenceArea": "%s,3,'1h','1h'", "holtWintersAberration": "%s,3,'1h','1h'",
	"interpolate": "%s", "movingWindow": "%s,100,'stddev'", "areaBetween": "limit(%s,2)", "divideSeriesLists": "%[1]s,%[1]s", "diffSeriesLists": "%[1]s,%[1]s",
	"sumSeriesLists": "%[1]s,%[1]s", "multiplySeriesLists": "%[1]s,%[1]s", "aggregateSeriesLists": "%[1]s,%[1]s,'sum'", "pieAverage": "%s", "sortBy": "%s,'stddev'", "filterSeries": "%s,'stddev','>',0",
	"highest": "%s,3,'stddev'", "lowest": "%s,3,'stddev'", "aggregate": "%s,'stddev'", "powSeries": "%s", "xFilesFactor": "%s,0.5", "setXFilesFactor": "%s,0.5",
	"transformNull": "%[1]s,0,%[1]s", "minMax": "%s", "template": "",
}

// callOf returns a call of a function over series.
func callOf(f *call.Function, series string) string {
	if given, ok := argumentsOf[f.Name]; ok {
		if !strings.Contains(given, "%") {
			return f.Name + "(" + given + ")"
		}
		return f.Name + "(" + fmt.Sprintf(given, series) + ")"
	}
	var args []string
	for _, p := range f.Params {
		if !p.Required && p.Type != call.TypeAggFunc {
			break
		}
		value := map[call.ParamType]string{
			call.TypeSeriesList: series, call.TypeSeriesLists: series, call.TypeAggFunc: "'stddev'", call.TypeAggOrSeriesFunc: "'sum'", call.TypeString: "'s'", call.TypeInteger: "5", call.TypeFloat: "5",
			call.TypeNode: "0", call.TypeNodeOrTag: "0", call.TypeInterval: "'1min'", call.TypeIntOrInterval: "100", call.TypeIntOrInf: "5", call.TypeTag: "'name'", call.TypeDate: "'00:01 19700101'", call.TypeBoolean: "true", call.TypeAny: "5",
		}[p.Type]
		args = append(args, value)
	}
	return f.Name + "(" + strings.Join(args, ",") + ")"
}

// TestEveryFunctionSeesTheEnd: whatever a function is given, a few long series or very many, it does not
// compute for long without a look at its request. It would go on as long after the request has ended.
func TestEveryFunctionSeesTheEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("all functions over millions of points")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const most = 200 * time.Millisecond
	walks := func(count, points int) (w wide) {
		for i := range count {
			s := &series.Series{Name: fmt.Sprintf("s%d", i), Start: 60, End: int64(60 + 60*points), Step: 60, Values: make([]float64, points)}
			for j := range s.Values {
				s.Values[j] = float64((i+j)*7919%10007) + 0.5
			}
			w = append(w, s)
		}
		return w
	}
	functions := New().Functions()
	for shape, source := range map[string]wide{"long": walks(1, 1_000_000), "many": walks(20_000, 10)} {
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			target := callOf(functions[name], "a")
			ctx := &watched{Context: t.Context(), last: threadTime()}
			begin := ctx.last
			_, err := New().Eval(ctx, parseAll(t, target), call.Request{From: 0, Until: int64(len(source[0].Values)) * 60, Now: 86400}, named(source))
			_ = ctx.Err()
			took := threadTime() - begin
			if ctx.longest > most {
				t.Errorf("%s: %s computes %v without a look, of %v with %d looks (%v)", shape, target, ctx.longest, took, ctx.looks, err)
			}
			t.Logf("%s: %s: %v, %d looks, at most %v: %v", shape, target, took, ctx.looks, ctx.longest, cmp.Or(err, nil))
		}
	}
}

package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// evalWithin computes targets over a year with a budget of so many bytes, and returns what the
// series hold at the end.
func evalWithin(ctx context.Context, t *testing.T, bytes int64, source Source, targets ...string) ([]*series.Series, int64, error) {
	t.Helper()
	account := query.NewBudget(bytes).Open()
	request := call.Request{From: 0, Until: 365 * 86400, Now: 365 * 86400}
	list, err := New().Eval(query.WithAccount(ctx, account), parseAll(t, targets...), request, source)
	return list, account.Held(), err
}

// hosts returns some series of some points.
func hosts(count, points int) wide {
	var w wide
	for i := range count {
		w = append(w, &series.Series{Name: fmt.Sprintf("servers.web%04d.cpu.%d", i/4, i%4), Start: 60, End: int64(60 + 60*points), Step: 60, Values: make([]float64, points)})
	}
	return w
}

// TestEveryFunctionIsCharged: with 700 kB, no function that makes series of 100 series of 1000
// points (800 kB) succeeds. With a generous budget, the account of the result is at least the size
// of its values.
func TestEveryFunctionIsCharged(t *testing.T) {
	const small, large = 700_000, 1 << 30
	source := hosts(100, 1000)
	for _, target := range []string{
		"scale(%s,2)", "absolute(%s)", "derivative(%s)", "integral(%s)", "stdev(%s,5)", "delay(%s,3)", "keepLastValue(%s)",
		"interpolate(%s)", "transformNull(%s)", "stacked(%s)", "holtWintersForecast(%s,'1h','2h')", "holtWintersConfidenceBands(%s,3,'1h','2h')",
		"movingAverage(%s,5)", "movingMedian(%s,'10min')", "exponentialMovingAverage(%s,5)",
		"summarize(%s,'1min')", "smartSummarize(%s,'1min')", "hitcount(%s,'1min')", "linearRegression(%s)", "nPercentile(%s,50)", "log(%s)",
		"asPercent(%s)", "asPercent(%s,100)", "divideSeries(%[1]s,limit(%[1]s,1))", "divideSeriesLists(%[1]s,%[1]s)", "sumSeriesLists(%[1]s,%[1]s)",
		"groupByNode(%s,3,'derivative')", "groupByNodes(%s,'sum',1,3)", "aggregateWithWildcards(%s,'sum',9)", "applyByNode(%s,3,'scale(%%,1)')",
		"timeStack(scale(%s,1),'1s',0,3)", "timeShift(scale(%s,1),'1s')", "timeSlice(%s,'00:00 19700102')", "aggregateLine(%s,'max',true)",
		"removeAboveValue(%s,0.5)", "integralByInterval(%s,'1h')", "isNonNull(%s)", "changed(%s)", "round(%s,1)", "perSecond(%s)", "pow(%s,2)",
		"invert(%s)", "squareRoot(%s)", "sigmoid(%s)", "minMax(%s)", "offsetToZero(%s)", "weightedAverage(%[1]s,%[1]s,1,3)",
	} {
		target = fmt.Sprintf(target, "servers.*.cpu.*")
		list, held, err := evalWithin(t.Context(), t, large, source, target)
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		values := int64(0)
		for _, s := range list {
			if s.OwnsValues() {
				values += 8 * int64(len(s.Values))
			}
		}
		if held < values {
			t.Errorf("%s: %d bytes of values are charged with %d", target, values, held)
		}
		if _, _, err := evalWithin(t.Context(), t, small, source, target); !errors.Is(err, query.ErrTooLarge) {
			t.Errorf("%s with %d bytes: %v, want %v", target, small, err, query.ErrTooLarge)
		}
	}
}

// TestMemoryIsBounded: each target would need far more than the budget of 64 MiB. None may take it,
// whatever else is wrong with the target.
func TestMemoryIsBounded(t *testing.T) {
	many := strings.Repeat
	a := "alias(servers.*.cpu.*,'" + many("a", 60_000) + "')"
	const quine = `aliasQuery(alias(constantLine(1),\047\1\047),\047(.+)\047,\047\1\047,\047x\047)`
	for name, target := range map[string]string{
		"a point a second":           "group(time('x',5),time('y',5))",
		"many of them":               "group(" + many("sin('x',1,60),", 50) + "randomWalk('y',60))",
		"events":                     "events('*')",
		"summaries":                  "summarize(group(" + many("constantLine(1),", 50) + "constantLine(2)),'5s')",
		"hits":                       "hitcount(group(" + many("time('x',86400),", 50) + "time('x',86400)),'5s')",
		"ranges":                     "timeStack(sin('x',1,60),'1min',0,1000)",
		"names that double":          many("aliasSub(", 60) + "servers.*.cpu.*" + many(`,'(.+)','\1\1')`, 60),
		"long replacements":          "aliasSub(" + a + ",'a','" + many("b", 60_000) + "')",
		"names of many nodes":        "aliasByNode(servers.*.cpu.*" + many(",0,1,2,3", 60_000) + ")",
		"names of many tags":         "aliasByTags(servers.*.cpu.*" + many(",'name'", 60_000) + ")",
		"legends":                    "legendValue(servers.*.cpu.*" + many(",'max'", 60_000) + ")",
		"padded names":               "cactiStyle(group(" + a + ",servers.*.cpu.*))",
		"wrapped long names":         many("scale(", 100) + a + many(",1)", 100),
		"series upon series":         "group(" + many("servers.*.cpu.*,", 3000) + "a)",
		"many matchers":              "reduceSeries(mapSeries(servers.*.cpu.*,1),'group',3" + many(",'x'", 200_000) + ",'0')",
		"a wide format":              "aliasQuery(servers.*.cpu.*,'(.+)','\\1','%9999999999d')",
		"values of a template":       "template(a$x,x='" + many("$y", 5000) + "',y='" + many("$z", 5000) + "',z='b')",
		"windows upon windows":       windows(40),
		"a deep pipe":                "servers.*.cpu.*" + many("|scale(2)", 100_000),
		"pipes in pipes":             many("group(", 190) + "constantLine(1)" + many(many("|scale(1)", 199)+")", 190),
		"a target that makes itself": "aliasQuery(alias(constantLine(1),'" + quine + "'),'(.+)','" + quine + "','x')",
		"applied to themselves":      many(`applyByNode(servers.*.cpu.*,3,"`, 1) + "group(" + many("%,", 20_000) + `%)")`,
	} {
		const limit = 64 << 20
		account := query.NewBudget(limit).Open()
		ctx, cancel := context.WithTimeout(query.WithAccount(t.Context(), account), 2*time.Second)
		begin := time.Now()
		n, err := expr.Parser{}.Parse(target)
		if err == nil {
			_, err = New().Eval(ctx, []expr.Node{n}, call.Request{From: 0, Until: 86400 * 365, Now: 86400 * 365}, hosts(400, 10))
		}
		cancel()
		if err == nil {
			t.Errorf("%s: no error, %d bytes held", name, account.Held())
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s took %v: %v", name, took, err)
		}
		t.Logf("%s: %.100v", name, err)
	}
}

// windows returns nested moving averages with alternating windows: each level doubles how often the
// innermost is computed.
func windows(depth int) string {
	target := "group(constantLine(1),nothing.there)"
	for i := range depth {
		target = fmt.Sprintf("movingAverage(%s,'%ds')", target, 1<<min(i, 30))
	}
	return target
}

// TestDroppedArgumentsAreReleased: the memory of arguments that a function has dropped is released.
func TestDroppedArgumentsAreReleased(t *testing.T) {
	source := hosts(100, 1000)
	_, once, err := evalWithin(t.Context(), t, 0, source, "scale(servers.*.cpu.*,2)")
	if err != nil {
		t.Fatal(err)
	}
	_, often, err := evalWithin(t.Context(), t, 0, source, strings.Repeat("derivative(", 20)+"servers.*.cpu.*"+strings.Repeat(")", 20))
	if err != nil {
		t.Fatal(err)
	}
	if often > 2*once {
		t.Errorf("after 20 functions %d bytes are held, after one %d", often, once)
	}
	_, sum, err := evalWithin(t.Context(), t, 0, source, "sumSeries(scale(servers.*.cpu.*,2))")
	if err != nil || sum > once/2 {
		t.Errorf("a sum holds %d bytes (%v), what it was made of %d", sum, err, once)
	}
}

// TestEndedRequestsStop: functions check the request's context while they process long series.
func TestEndedRequestsStop(t *testing.T) {
	long := wide{{Name: "a", Start: 60, End: 60 + 60*2_000_000, Step: 60, Values: make([]float64, 2_000_000)}}
	for i := range long[0].Values {
		long[0].Values[i] = float64(i*7919%10007) + 0.5
	}
	for _, target := range []string{
		"movingMedian(a,500000)", "movingAverage(a,500000)", "movingWindow(a,500000,'stddev')", "summarize(a,'1min','median')",
		"aggregateWithWildcards(a,'sum'" + strings.Repeat(",7", 100_000) + ")|aggregateWithWildcards('sum'" + strings.Repeat(",7", 100_000) + ")",
		windows(60), "percentileOfSeries(group(a,a,a,a,a,a,a,a),50)", "removeBetweenPercentile(group(a,a,a,a,a,a,a,a),30)", "round(a,3)",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		done := make(chan error, 1)
		nodes := parseAll(t, target)
		go func() {
			_, err := New().Eval(ctx, nodes, call.Request{From: 0, Until: 86400, Now: 86400}, long)
			done <- err
		}()
		<-ctx.Done()
		begin := time.Now()
		err := <-done
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%.60s went on for %v after its request had ended: %v", target, took, err)
		}
		cancel()
	}
}

// FuzzTimeGrows repeats pieces of times and intervals.
func FuzzTimeGrows(f *testing.F) {
	for _, s := range []string{"-1s", "noon", "1y", "99999999999y", "+", "/", ":", "am", "jan", "12/", "_", "0", "monday", "20250101"} {
		f.Add(s, uint(2), "now")
		f.Add(s, uint(100_000), "-1h")
	}
	f.Fuzz(func(t *testing.T, piece string, n uint, end string) {
		text := strings.Repeat(piece, min(int(n), 300_000/max(len(piece), 1))) + end
		begin := time.Now()
		_, _ = timespec.ParseTime(text, time.UTC, time.Unix(1_700_000_000, 0))
		_, _ = timespec.ParseOffset(text)
		if took := time.Since(begin); took > 10*time.Second {
			t.Fatalf("%.50q × %d and %.50q took %v", piece, n, end, took)
		}
	})
}

// FuzzEvalGrows nests and repeats calls with a small budget: every target ends with its request and
// takes no more than the budget.
func FuzzEvalGrows(f *testing.F) {
	for _, s := range [][3]string{
		{"scale(", ",2)", ""},
		{"movingAverage(", ",'7s')", ""},
		{"group(", ",servers.*.cpu.*)", ""},
		{"aliasSub(", `,'(.)','\1\1')`, ""},
		{"", "", "|aliasByNode(0,0)"},
		{"timeStack(", ",'1min',0,9)", ""},
		{"summarize(", ",'1s')", ""},
		{"sumSeries(", ")", "|scale(2)"},
		{"asPercent(", ",time('x',1))", ""},
		{"holtWintersForecast(", ",'1h','2min')", ""},
		{"aliasQuery(", ",'.+','time(1)','%99d')", ""},
		{"", "", "|legendValue('max','min','avg')"},
		{"mapSeries(", ",1)", "|reduceSeries('sum',3,'0','1')"},
		{"transformNull(", ",0,time('y',1))", ""},
	} {
		f.Add(s[0], s[1], s[2], uint(2))
		f.Add(s[0], s[1], s[2], uint(150))
	}
	source := hosts(40, 20)
	f.Fuzz(func(t *testing.T, open, shut, after string, n uint) {
		grow := func(s string) string { return strings.Repeat(s, min(int(n%1000), 300_000/max(len(s), 1))) }
		target, err := expr.Parser{}.Parse(grow(open) + "servers.*.cpu.*" + grow(shut) + grow(after))
		if err != nil {
			return
		}
		const limit = 16 << 20
		account := query.NewBudget(limit).Open()
		ctx, cancel := context.WithTimeout(query.WithAccount(t.Context(), account), 200*time.Millisecond)
		defer cancel()
		begin := time.Now()
		_, err = New().Eval(ctx, []expr.Node{target}, call.Request{From: 0, Until: 86400, Now: 86400}, source)
		if took := time.Since(begin); took > 10*time.Second {
			t.Fatalf("%.50q, %.50q, %.50q × %d took %v: %v", open, shut, after, n, took, err)
		}
		if held := account.Held(); held > limit || held < 0 {
			t.Fatalf("%.50q, %.50q, %.50q × %d holds %d bytes: %v", open, shut, after, n, held, err)
		}
	})
}

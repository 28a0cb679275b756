package expression

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// TestParseTrees: what functions need, and what is no expression.
func TestParseTrees(t *testing.T) {
	trees, metrics, err := ParseTrees([]string{" scale ( sum : 1m-avg : rate : x { a = b , c = * } , -1.5 ) anything §", "sum(max:x,absolute(min:y{k=a|b}))"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"sum:1m-avg:rate:x{a=b,c=*}", "max:x", "min:y{k=a|b}"}; !slices.Equal(metrics, want) {
		t.Errorf("the metrics are %q, want %q", metrics, want)
	}
	if got := fmt.Sprint(trees); got != "[scale(x) sumSeries(absolute(y),x)]" {
		t.Errorf("the functions are %s", got)
	}
	for text, want := range map[string]string{
		"": "Failed to parse ", "x": "Function x has", "scale": "Failed", "scale(": "Failed", "scale()": "Failed", "scale(sum:x,)": "Failed", "scale(sum:x": "Failed",
		"scale(sum:x{},1)": "Failed", "scale(sum:x{a},1)": "Failed", "scale(sum:x{a=b,},1)": "Failed", "scale(sum:x{a=b}{c=d},1)": "Failed", "scale(sum:a:b:c:x,1)": "Failed",
		"scale(sum:,1)": "Failed", "scale(sum:x y,1)": "Failed", "scale(§)": "Failed", "nosuch(sum:x)": "Function nosuch has not been implemented",
		"Scale(sum:x)": "Function Scale has", "absolute(firstDiff(sum:x))": "Function firstDiff has", "scale(sum:x,1&&2)": "Failed",
		strings.Repeat("absolute(", 10_000) + "sum:x" + strings.Repeat(")", 10_000): "at most",
		strings.Repeat("absolute(", 150) + "sum:x" + strings.Repeat(")", 150):       "depth of 100",
		"scale(sum:x," + strings.Repeat("1,", 500_000) + "1)":                       "at most",
		"scale(sum:x" + strings.Repeat(",1", 2000) + ")":                            "more than 1000 parameters",
		"scale(sum:" + strings.Repeat("x", 1_000_000) + ",1)":                       "at most",
	} {
		var syntax query.SyntaxError
		if _, _, err := ParseTrees([]string{text}); !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 {
			t.Errorf("%.100s: %.200v, want %s", text, err, want)
		}
	}
}

// evaluated computes an expression of series, one list for each of its metrics.
func evaluated(text string, series ...[]query.Series) ([]query.Group, error) {
	trees, _, err := ParseTrees([]string{text})
	if err != nil {
		return nil, err
	}
	return Evaluate(trees, series, Environment{Start: 1000, End: 100_000, Means: unlimited()})
}

// printed returns the points of groups: tags, values, and their seconds where they are not 1, 2, ….
func printed(groups []query.Group) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "%s%v%v", g.Metric, g.Tags, g.AggregatedTags)
		for i, time := range g.Points.Times {
			b.WriteByte(' ')
			if time != int64(i+1)*1000 {
				fmt.Fprintf(&b, "%d:", time/1000)
			}
			if isLong(&g.Points, i) {
				fmt.Fprint(&b, g.Points.Longs[i])
			} else {
				b.Write(query.AppendDouble(nil, g.Points.Values[i]))
			}
		}
		b.WriteByte(';')
	}
	return b.String()
}

// TestFunctions: the rules of the functions. Most cases are in the recordings of a TSD.
func TestFunctions(t *testing.T) {
	whole := seriesOf("n", "h=1")
	whole.Points = longs(-5, math.MaxInt64, math.MinInt64)
	x := []query.Series{seriesOf("x", "h=1", 1, none, -3), seriesOf("x", "h=2 g", 8)}
	y := []query.Series{seriesOf("y", "h=1", 2, 4), seriesOf("y", "h=3", 16)}
	for text, c := range map[string]struct {
		series []([]query.Series)
		want   string
	}{
		"scale(sum:x,-2)":                     {[][]query.Series{x}, `x[{h 1}][] -2.0 3:6.0;x[{h 2}][g] -16.0;`},
		"scale(sum:n,2)":                      {[][]query.Series{{whole}}, `n[{h 1}][] -10 -2 0;`},
		"scale(sum:n,0.5)":                    {[][]query.Series{{whole}}, `n[{h 1}][] -2.5 4.611686018427388E18 -4.611686018427388E18;`},
		"scale(sum:n,99999999999999999999)":   {[][]query.Series{{whole}}, `n[{h 1}][] -9223372036854775803 1 -9223372036854775808;`},
		"absolute(sum:n)":                     {[][]query.Series{{whole}}, `n[{h 1}][] 5 9223372036854775807 -9223372036854775808;`},
		"alias(sum:x,a-@h,b)":                 {[][]query.Series{x}, `a-1,b[][] 1.0 3:3.0;a-2,b[][] 8.0;`},
		"alias(alias(sum:x,q),@h)":            {[][]query.Series{x}, `@h[][] 1.0 3:3.0;@h[][] 8.0;`},
		"scale(alias(sum:x,q),1)":             {[][]query.Series{x}, `q[][] 1.0 3:3.0;q[][] 8.0;`},
		"sum(sum:x,sum:y)":                    {[][]query.Series{x[:1], y}, `x[{h 1}][] 3.0 1.0;y[][] 16.0;`},
		"difference(sum:y,sum:x)":             {[][]query.Series{y, x[:1]}, `x[{h 1}][] 1.0 7.0;y[{h 3}][] 16.0;`},
		"divide(sum:x,sum:y)":                 {[][]query.Series{x[:1], y}, `x[{h 1}][] 0.5 -0.75;y[][] 0.0;`},
		"multiply(sum:y,sum:y)":               {[][]query.Series{y, y}, `y[{h 1}][] 4.0 16.0;y[{h 3}][] 256.0;`},
		"highestMax(sum:x,sum:y,2)":           {[][]query.Series{x, y}, `y[{h 3}][] 16.0;x[{h 2}][g] 8.0;`},
		"highestCurrent(sum:y,9)":             {[][]query.Series{y}, `y[{h 1}][] 2.0 4.0;y[{h 3}][] 16.0;`},
		"movingAverage(sum:x,2)":              {[][]query.Series{x[:1]}, `x[{h 1}][] 0.0 3:-1.0;`},
		"movingAverage(sum:x,'1sec')":         {[][]query.Series{x[:1]}, `x[{h 1}][] 0.0 3:-3.0;`},
		"movingAverage(sum:x,1)":              {[][]query.Series{x[:1]}, `x[{h 1}][] 1.0 3:-3.0;`},
		"scale(scale(sum(sum:x,sum:y),2),2)":  {[][]query.Series{x[:1], y}, `x[{h 1}][] 12.0 4.0;y[][] 64.0;`},
		"alias(scale(sum(sum:x,sum:y),2),@h)": {[][]query.Series{x[:1], y}, `1[][] 6.0 2.0;@h[][] 32.0;`},
	} {
		groups, err := evaluated(text, c.series...)
		if err != nil || printed(groups) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", text, err, printed(groups), c.want)
		}
	}
}

// TestFunctionsRefuse what a TSD refuses while it computes, in its words.
func TestFunctionsRefuse(t *testing.T) {
	x := []query.Series{seriesOf("x", "h=1", 1, 2)}
	for text, want := range map[string]string{
		"scale(sum:x)": "Missing scaling factor", "scale(sum:x,1e3)": "Unparseable scale factor value: 0.0", "scale(sum:x,1.2.3)": "Invalid parameter",
		"alias(sum:x)": "Missing the alias", "alias(sum(sum:x,sum:x),y)": "-1", "scale(5,sum:x)": "Unknown parameter type: null in tree: scale(x)",
		"sum(sum:x)": "Must have 2 to 26 series, got 1 instead", "sum(sum:x" + strings.Repeat(",sum:x", 26) + ")": "got 27 instead",
		"movingAverage(sum:x)": "Missing moving average window size", "movingAverage(sum:x,0)": "greater than zero", "movingAverage(sum:x,-1)": "Unparseable window size: -1",
		"movingAverage(sum:x,'5')": "Unknown time unit= in window='5'", "movingAverage(sum:x,')": "Invalid moving window parameter: '", "movingAverage(sum:x,'')": "Invalid moving window",
		"movingAverage(sum:x,'99999999999s')": "Unable to parse", "movingAverage(sum:x,99999999999)": "must be an integer",
		"highestMax(sum:x)": "Need aggregation window", "highestMax(sum:x,0)": "Top n value must be greater than zero: 0", "highestCurrent(sum:x,x)": "Unparseable top n value: x",
		"highestMax(sum:x,99999999999)": "must be an integer", "shift(sum:x)": "Need amount of timeshift", "shift(sum:x,5m)": "Invalid timeshift parameter",
		"timeShift(sum:x,'5min')": "unknown time unit=min'", "timeShift(sum:x,')": "Invalid Parameter: '", "timeShift(sum:x,'99999999999min')": "99999999999",
		"sum(alias(sum:x,q),sum:x)": "Wrong id.length = 0",
	} {
		series := slices.Repeat([][]query.Series{x}, 30)
		_, err := evaluated(text, series...)
		var refused query.RequestError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", text, err, want)
		}
	}
	if _, err := evaluated("sum(sum:x,sum:x)", x); err == nil || err.Error() != "Index 1 out of bounds for length 1" {
		t.Errorf("equal metrics: %v", err)
	}
	if _, err := evaluated("sum(sum:x,sum:y)", x, []query.Series{seriesOf("y", "h=1", 1)}); err == nil || err.Error() != "No more elements" {
		t.Errorf("series of different lengths: %v", err)
	}
	empty := []query.Series{seriesOf("x", "h=1")}
	for _, text := range []string{"sum(sum:x,sum:y)", "highestMax(sum:x,1)"} {
		if _, err := evaluated(text, empty, empty); err == nil {
			t.Errorf("%s of no values has a result", text)
		}
	}
	if groups, err := evaluated("highestCurrent(sum:x,1)", empty); err != nil || len(groups) != 0 {
		t.Errorf("the highest of no values are %v, %v", groups, err)
	}
	if _, err := evaluated("movingAverage(sum:x,1)", []query.Series{seriesOf("x", "", math.Inf(1))}); !errors.Is(err, aggregate.ErrInfinite) {
		t.Errorf("an infinite average: %v", err)
	}
}

// TestFunctionsEnd: functions end with the request, and take memory before they use it.
func TestFunctionsEnd(t *testing.T) {
	many := slices.Repeat([]float64{1}, 20_000)
	x := []query.Series{seriesOf("x", "h=1", many...), seriesOf("x", "h=2", many...)}
	failed := errors.New("enough")
	for _, text := range []string{"scale(sum:x,2)", "alias(sum:x,q)", "movingAverage(sum:x,10000)", "highestMax(sum:x,1)", "sum(sum:x,sum:y)"} {
		trees, _, err := ParseTrees([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		pauses := 0
		for _, means := range []Means{
			{Pause: func() error { return failed }, Take: func(int64) error { return nil }},
			{Pause: func() error { return nil }, Take: func(int64) error { return failed }},
		} {
			if _, err := Evaluate(trees, [][]query.Series{x, x}, Environment{End: 1e12, Means: means}); !errors.Is(err, failed) {
				t.Errorf("%s: %v", text, err)
			}
		}
		means := unlimited()
		means.Pause = func() error { pauses++; return nil }
		if _, err := Evaluate(trees, [][]query.Series{x, x}, Environment{End: 1e12, Means: means}); err != nil || pauses == 0 || strings.HasPrefix(text, "moving") && pauses < 100 {
			t.Errorf("%s: %v, %d pauses", text, err, pauses)
		}
	}
}

// TestMovingAverage compares with the definition: sums from the newest point backwards.
func TestMovingAverage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var s aggregate.Span
		at := int64(0)
		for range random.IntN(40) {
			at += 1 + random.Int64N(5)
			v := random.NormFloat64()
			if random.IntN(6) == 0 {
				v = none
			}
			s.Add(at, v)
		}
		w := window{1 + random.Int64N(12), random.IntN(2) == 0}
		got, err := (&averager{points: s, window: w, pause: func() error { return nil }}).averages()
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Times {
			want := averageOf(s, i, w)
			if got.Times[i] != s.Times[i] || math.Float64bits(got.Values[i]) != math.Float64bits(want) {
				t.Fatalf("%v of %v: point %d is %v, want %v", w, s, i, got.Values[i], want)
			}
		}
	}
}

// averageOf averages a window that ends with a point. Points that fell out of a full window are lost, also
// for later ones that would reach them.
func averageOf(s aggregate.Span, i int, w window) float64 {
	sum, count := 0.0, int64(0)
	for k := i; k >= 0; k-- {
		if w.timed && s.Times[i]-s.Times[k] >= w.size {
			if i == 0 || count == 0 {
				return 0
			}
			return sum / float64(count)
		}
		if v := s.Values[k]; v == v {
			sum, count = sum+v, count+1
		}
		if !w.timed && count == w.size {
			return sum / float64(count)
		}
	}
	return 0
}

// FuzzEvaluate: whatever expression is read is computed without a panic.
func FuzzEvaluate(f *testing.F) {
	for _, text := range []string{
		"scale(sum:x,2)", "alias(sum(sum:x,max:y),a@h)", "movingAverage(highestMax(sum:x{h=*},2),'3min')", "divide(movingAverage(sum:x,2),absolute(sum:y))",
		"timeShift(sum:x,'1h')", "highestCurrent(multiply(sum:x,sum:y),1)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trees, metrics, err := ParseTrees([]string{text})
		if err != nil {
			return
		}
		var series [][]query.Series
		for i := range metrics {
			series = append(series, [][]query.Series{
				{seriesOf("x", "h=1", 1, none, 3), seriesOf("x", "h=2 g", 10)}, {seriesOf("y", "h=1", 4, 5)}, nil, {seriesOf("z", "")},
			}[i%4])
		}
		groups, err := Evaluate(trees, series, Environment{Start: 0, End: 5000, Means: unlimited()})
		if err == nil && len(printed(groups)) == 0 && len(groups) > 0 {
			t.Error("groups print nothing")
		}
	})
}

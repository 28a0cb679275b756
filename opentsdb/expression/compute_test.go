package expression

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

var now = time.Unix(1_000_000, 0)

// request reads a request for metrics a, b, … of these names, and checks it.
func request(t *testing.T, metrics []string, rest string) *Request {
	t.Helper()
	var list []string
	for i, m := range metrics {
		list = append(list, fmt.Sprintf(`{"id":"%c","metric":%q}`, 'a'+i, m))
	}
	body := fmt.Sprintf(`{"time":{"start":1,"end":100,"aggregator":"sum"},"metrics":[%s]%s}`, strings.Join(list, ","), rest)
	r, err := Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Check(now, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// shown returns the outputs of an answer as they are printed.
func shown(t *testing.T, a *Answer) string {
	t.Helper()
	var b bytes.Buffer
	if n, err := a.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	var all struct{ Outputs []json.RawMessage }
	if err := json.Unmarshal(b.Bytes(), &all); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	var lines []string
	for _, o := range all.Outputs {
		lines = append(lines, string(o))
	}
	return strings.Join(lines, "\n")
}

// TestCompute: joins by tags, fills, nested expressions, and what is printed of them. Most cases are in the
// recordings of a TSD; here are their rules.
func TestCompute(t *testing.T) {
	series := [][]query.Series{
		{seriesOf("x", "h=1", 1, none, 3), seriesOf("x", "h=2", 10)},
		{seriesOf("y", "h=1", 4, 5), seriesOf("y", "h=3", 7)},
	}
	for name, c := range map[string]struct{ rest, want string }{
		"a union fills what is missing with 0": {
			`,"expressions":[{"id":"e","expr":"a + b"}]`,
			`{"id":"e","dps":[[1000,5.0,10.0,7.0],[2000,5.0,0.0,0.0],[3000,3.0,0.0,0.0]],"dpsMeta":{"firstTimestamp":1000,"lastTimestamp":3000,"setCount":3,"series":3},` +
				`"meta":[{"index":0,"metrics":["timestamp"]},{"index":1,"metrics":["x","y"],"commonTags":{"h":"1"},"aggregatedTags":[]},` +
				`{"index":2,"metrics":["x","y"],"commonTags":{"h":"2"},"aggregatedTags":[]},{"index":3,"metrics":["x","y"],"commonTags":{},"aggregatedTags":[]}]}`,
		},
		"an intersection has the times of its series alone": {
			`,"expressions":[{"id":"e","expr":"a - b","join":{"operator":"intersection"}}]`,
			`{"id":"e","dps":[[1000,-3.0],[2000,-5.0],[3000,3.0]],"dpsMeta":{"firstTimestamp":1000,"lastTimestamp":3000,"setCount":3,"series":1},` +
				`"meta":[{"index":0,"metrics":["timestamp"]},{"index":1,"metrics":["x","y"],"commonTags":{"h":"1"},"aggregatedTags":[]}]}`,
		},
		"a metric": {
			`,"outputs":[{"id":"b","alias":"z"}]`,
			`{"id":"b","alias":"z","dps":[[1000,4.0,7.0],[2000,5.0,0.0]],"dpsMeta":{"firstTimestamp":1000,"lastTimestamp":2000,"setCount":2,"series":2},` +
				`"meta":[{"index":0,"metrics":["timestamp"]},{"index":1,"metrics":["y"],"commonTags":{"h":"1"},"aggregatedTags":[]},` +
				`{"index":2,"metrics":["y"],"commonTags":{"h":"3"},"aggregatedTags":[]}]}`,
		},
		"a nested expression is computed once, and its second output has no rows": {
			`,"expressions":[{"id":"e","expr":"b * 2"},{"id":"f","expr":"e + b"}],"outputs":[{"id":"f"},{"id":"f"},{"id":"nosuch"}]`,
			`{"id":"f","dps":[[1000,12.0,21.0],[2000,15.0,0.0]],"dpsMeta":{"firstTimestamp":1000,"lastTimestamp":2000,"setCount":2,"series":2},` +
				`"meta":[{"index":0,"metrics":["timestamp"]},{"index":1,"metrics":["y"],"commonTags":{"h":"1"},"aggregatedTags":[]},` +
				`{"index":2,"metrics":["y"],"commonTags":{"h":"3"},"aggregatedTags":[]}]}` + "\n" +
				`{"id":"f","dps":[],"dpsMeta":{"firstTimestamp":0,"lastTimestamp":0,"setCount":0,"series":2},` +
				`"meta":[{"index":0,"metrics":["timestamp"]},{"index":1,"metrics":["y"],"commonTags":{"h":"1"},"aggregatedTags":[]},` +
				`{"index":2,"metrics":["y"],"commonTags":{"h":"3"},"aggregatedTags":[]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, []string{"x", "y"}, c.rest)
			a, err := r.Compute(series, 0, 100_000, unlimited())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shown(t, a)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTimes: an expression shows the rows of its time alone, with the last instant only if there are two.
func TestTimes(t *testing.T) {
	r := request(t, []string{"x"}, `,"expressions":[{"id":"e","expr":"a"}]`)
	series := [][]query.Series{{seriesOf("x", "h=1", 1, 2, 3)}}
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{2000, 2500, `[[2000,2.0]] {2000 0 1 1}`},
		{2000, 3000, `[[2000,2.0],[3000,3.0]] {2000 3000 2 1}`},
		{4000, 5000, `[] {0 0 0 1}`},
		{0, 500, `[] {0 0 0 1}`},
	} {
		a, err := r.Compute(series, c.from, c.to, unlimited())
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Dps     json.RawMessage
			DpsMeta struct{ FirstTimestamp, LastTimestamp, SetCount, Series int64 }
		}
		if err := json.Unmarshal([]byte(shown(t, a)), &got); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%s %v", got.Dps, got.DpsMeta); text != c.want {
			t.Errorf("from %d to %d: %s, want %s", c.from, c.to, text, c.want)
		}
	}
}

// TestComputeRefuses what a TSD refuses while it computes.
func TestComputeRefuses(t *testing.T) {
	full := seriesOf("x", "h=1", 1, 2, 3)
	for name, c := range map[string]struct {
		rest   string
		series []query.Series
		want   string
	}{
		"no common tags":                 {`,"expressions":[{"id":"e","expr":"a+b","join":{"operator":"intersection"}}]`, []query.Series{seriesOf("y", "h=2", 1)}, "No intersections found"},
		"a series without values":        {`,"expressions":[{"id":"e","expr":"a+b"}]`, []query.Series{seriesOf("y", "h=2")}, "has no values"},
		"a number of the wrong type":     {`,"expressions":[{"id":"e","expr":"a > b ? 1 : 0"}]`, []query.Series{seriesOf("y", "h=1", 1)}, "java.lang.Integer"},
		"operands of the wrong type":     {`,"expressions":[{"id":"e","expr":"(a > b) * 2"}]`, []query.Series{seriesOf("y", "h=1", 1)}, "java.lang.Boolean:"},
		"a nested expression ends early": {`,"expressions":[{"id":"e","expr":"b * 2"},{"id":"f","expr":"e + a"}],"outputs":[{"id":"f"}]`, []query.Series{seriesOf("y", "h=1", 1)}, "No more data"},
	} {
		r := request(t, []string{"x", "y"}, c.rest)
		_, err := r.Compute([][]query.Series{{full}, c.series}, 0, 100_000, unlimited())
		var refused query.RequestError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMeans: a computation ends with the request, and takes memory before it uses it.
func TestMeans(t *testing.T) {
	var many []float64
	for i := range 100_000 {
		many = append(many, float64(i))
	}
	series := [][]query.Series{{seriesOf("x", "h=1", many...), seriesOf("x", "h=2", many...)}, {seriesOf("y", "h=1", many...)}}
	failed := errors.New("enough")
	for _, rest := range []string{`,"expressions":[{"id":"e","expr":"a + b"}]`, ``, `,"expressions":[{"id":"e","expr":"a"},{"id":"f","expr":"e * 2"}],"outputs":[{"id":"f"}]`} {
		r := request(t, []string{"x", "y"}, rest)
		var taken, pauses int64
		means := Means{
			Pause: func() error { pauses++; return nil },
			Take:  func(n int64) error { taken += n; return nil },
		}
		if _, err := r.Compute(series, 0, 1e12, means); err != nil || taken < 200_000*8 || pauses == 0 {
			t.Errorf("%s: %v, %d bytes, %d pauses", rest, err, taken, pauses)
		}
		means = unlimited()
		means.Take = func(int64) error { return failed }
		if _, err := r.Compute(series, 0, 1e12, means); !errors.Is(err, failed) {
			t.Errorf("%s without memory: %v", rest, err)
		}
		means = unlimited()
		means.Pause = func() error { return failed }
		if _, err := r.Compute(series, 0, 1e12, means); !errors.Is(err, failed) {
			t.Errorf("%s after its end: %v", rest, err)
		}
	}
}

// TestCheck refuses what a TSD fails to read.
func TestCheck(t *testing.T) {
	metrics, times := `"metrics":[{"id":"a","metric":"x"}]`, `"time":{"start":1,"end":100,"aggregator":"sum"}`
	chain := make([]string, 1500)
	for i := range chain {
		chain[i] = fmt.Sprintf(`{"id":"e%dx","expr":"a"}`, i)
	}
	for body, want := range map[string]string{
		"":     "Incoming data was null or empty",
		"null": "Incoming data was null",
		"[]":   "Unable to parse the given JSON",
		"{}":   "missing time",
		`{"time":{"start":"x","aggregator":"sum"}}`:     "Invalid time",
		`{"time":{"start":1,"aggregator":"squareSum"}}`: "Invalid time",
		`{` + times + `}`:                                                                                            "missing or empty metrics",
		`{` + times + `,"metrics":[null]}`:                                                                           "null",
		`{` + times + `,"metrics":[{"id":"a-b","metric":"x"}]}`:                                                      "Invalid metric at index 0",
		`{` + times + `,"metrics":[{"id":"5","metric":"x"}]}`:                                                        "Invalid metric at index 0",
		`{` + times + `,"metrics":[{"id":"\ud83d\ude00","metric":"x"}]}`:                                             "Invalid metric at index 0",
		`{` + times + `,` + metrics + `,"filters":[{"id":"f"}],"expressions":[{"id":"a","expr":"a"}]}`:               "Duplicated variable or expression id: a",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"a"},{"id":"e","expr":"a"}]}`:                "Duplicated variable or expression id: e",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"a + zz"}]}`:                                 "Expression [a + zz] was missing input zz",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"e"}]}`:                                      "Self referencing expression found: e",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"f"},{"id":"f","expr":"e"}]}`:                "Circular reference found: ",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"a","join":{}}]}`:                            "The set operator cannot be null",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"1"}]}`:                                      "The expression didn't appear to have any variables",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"new('x')"}]}`:                               "not supported",
		`{` + times + `,` + metrics + `,"expressions":[{"id":"e","expr":"` + strings.Repeat("a+", 500_000) + `a"}]}`: "not supported",
		`{` + times + `,` + metrics + `,"expressions":[` + strings.Join(chain, ",") + `]}`:                           "at most 1000",
		`{` + times + `,"metrics":[{"id":"a","metric":"x","filter":"f"}]}`:                                           "No filter defined: f",
		`{` + times + `,"metrics":[{"id":"a","metric":"x","filter":"f"}],"filters":[]}`:                              "unrecognized filter id f in metric a",
		`{` + times + `,"metrics":[{"id":"a","metric":"x","filter":"f"}],"filters":[{"id":"f","tags":[null]}]}`:      "Missing tags of filter f",
		`{` + times + `,"metrics":[{"id":"a","metric":"x","fillPolicy":{"policy":"zero","value":1}}]}`:               "The value for ZERO must be 0",
		`{` + times + `,` + metrics + `,"outputs":[null]}`:                                                           "An output is null",
	} {
		err := checked(body)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%.200s: %v, want %s", body, err, want)
		}
	}
}

func checked(body string) error {
	r, err := Parse([]byte(body))
	if err == nil {
		_, err = r.Check(now, nil)
	}
	return err
}

// TestManyNested: a long chain of expressions is computed once each.
func TestManyNested(t *testing.T) {
	list := []string{`{"id":"e0x","expr":"a"}`}
	for i := range 900 {
		list = append(list, fmt.Sprintf(`{"id":"e%dx","expr":"e%dx + e%dx"}`, i+1, i, i))
	}
	r := request(t, []string{"x"}, `,"expressions":[`+strings.Join(list, ",")+`],"outputs":[{"id":"e900x"}]`)
	a, err := r.Compute([][]query.Series{{seriesOf("x", "h=1", 1)}}, 0, 100_000, unlimited())
	if err != nil || !strings.Contains(shown(t, a), "[[1000,8.452712498170644E270]]") {
		t.Errorf("%v %s", err, shown(t, a))
	}
}

// FuzzCompute: whatever request is read is computed without a panic, and what is shown is JSON.
func FuzzCompute(f *testing.F) {
	f.Add(`{"time":{"start":1,"end":"100","aggregator":"sum","downsampler":{"interval":"1m","aggregator":"avg"}},"filters":[{"id":"f","tags":[{"type":"wildcard","tagk":"h","filter":"*","groupBy":true}]}],` +
		`"metrics":[{"id":"a","metric":"x","filter":"f","fillPolicy":{"policy":"nan"}},{"id":"b","metric":"y","fillPolicy":{"value":3}}],` +
		`"expressions":[{"id":"e","expr":"a + b * 2","join":{"operator":"intersection","useQueryTags":true,"includeAggTags":false}},{"id":"f","expr":"e / a"}],"outputs":[{"id":"e","alias":"z"},{"id":"a"}]}`)
	f.Add(`{"time":{"start":1,"aggregator":"sum"},"metrics":[{"id":"a","metric":"x"}],"expressions":[{"id":"e","expr":"e"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		r, err := Parse([]byte(body))
		if err != nil {
			return
		}
		q, err := r.Check(now, nil)
		if err != nil {
			return
		}
		var series [][]query.Series
		for i := range q.Queries {
			series = append(series, [][]query.Series{
				{seriesOf("x", "h=1", 1, none, 3), seriesOf("x", "h=2 g", 10)}, {seriesOf("y", "h=1", 4, none)}, nil, {seriesOf("z", "")},
			}[i%4])
		}
		a, err := r.Compute(series, 0, 5000, unlimited())
		if err != nil {
			return
		}
		shown(t, a)
	})
}

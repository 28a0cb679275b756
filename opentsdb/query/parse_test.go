package query

import (
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
)

// TestParseM reads what the parameter m can say.
func TestParseM(t *testing.T) {
	counter := aggregate.RateOptions{Counter: true, CounterMax: 255, ResetValue: 10}
	for m, want := range map[string]SubQuery{
		"sum:a.b":                     {Aggregator: "sum", Metric: "a.b"},
		"sum:1m-avg-nan:rate:a{}":     {Aggregator: "sum", Metric: "a", Downsample: "1m-avg-nan", Rate: true},
		"avg:rate{counter,255,10}:a":  {Aggregator: "avg", Metric: "a", Rate: true, RateOptions: &counter},
		"sum:explicit_tags:a{host=*}": {Aggregator: "sum", Metric: "a", ExplicitTags: true, Filters: []Filter{{"host", "wildcard", "*", true, true, 0}}},
		"sum:a{host=x|y,dc=lg*}{cpu=not_literal_or(0)}": {Aggregator: "sum", Metric: "a", Filters: []Filter{
			{"cpu", "not_literal_or", "0", false, false, 0}, {"host", "literal_or", "x|y", true, false, 0}, {"dc", "wildcard", "lg*", true, true, 0},
		}},
		"sum:a{}{host=b}":                  {Aggregator: "sum", Metric: "a", Filters: []Filter{{"host", "literal_or", "b", false, false, 0}}},
		"sum:percentiles[50,99.9]:a":       {Aggregator: "sum", Metric: "a", Percentiles: []float32{50, 99.9}},
		"sum:m-sum:rate-of-nothing:a":      {Aggregator: "sum", Metric: "a", Rate: true},
		"none:pre-agg:ROLLUP_RAW:a{h=b}":   {Aggregator: "none", Metric: "a", PreAggregate: true, RollupUsage: "ROLLUP_RAW", Filters: []Filter{{"h", "literal_or", "b", true, false, 0}}},
		"sum:show-histogram-buckets:a{}{}": {Aggregator: "sum", Metric: "a", ShowBuckets: true},
	} {
		got, err := ParseM(m)
		if err != nil {
			t.Errorf("%s: %v", m, err)
		} else if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(SubQuery{}), cmp.AllowUnexported(Filter{})); d != "" {
			t.Errorf("%s: %s", m, d)
		}
	}
}

// TestParseMRefuses says in a TSD's words what is wrong.
func TestParseMRefuses(t *testing.T) {
	for m, want := range map[string]string{
		"":                        "The query string was empty",
		"sum":                     "Invalid parameter m=sum (not enough :-separated parts)",
		"sum:a:b:c:d:e":           "Invalid parameter m=sum:a:b:c:d:e (too many :-separated parts)",
		"sum:a{host":              "Missing '}' at the end of: a{host",
		"sum:a{host}":             "When parsing tag 'host': invalid tag: host",
		"sum:a{host=bogus(x)}":    "When parsing tag 'host=bogus(x)': Could not find a tag value filter of the type: bogus",
		"sum:a{host=regexp(x}":    "When parsing tag 'host=regexp(x': Filter must end with a ')': regexp(x",
		"sum:a{host=wildcard(x)}": "When parsing tag 'host=wildcard(x)': Filter must contain an asterisk",
		"sum:rate{counter,x}:a":   "Max value of counter was not a number, received 'x'",
	} {
		if _, err := ParseM(m); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", m, err, want)
		}
	}
}

// TestParseTime reads all forms of times.
func TestParseTime(t *testing.T) {
	now := time.UnixMilli(1700000000123)
	york, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		zone *time.Location
		want int64
	}{
		{"now", time.UTC, 1700000000123},
		{"1h-ago", time.UTC, 1700000000123 - 3600_000},
		{"500ms-AGO", time.UTC, 1700000000123 - 500},
		{"1356998400", time.UTC, 1356998400_000},
		{"1356998400500", time.UTC, 1356998400500},
		{"1356998400.5", time.UTC, 13569984005},
		{"1356998400.500", time.UTC, 1356998400500},
		{"1356998400500ms", time.UTC, 1356998400500},
		{"2013/01/01", time.UTC, 1356998400_000},
		{"2013/01/01-00:00", york, 1357016400_000},
		{"2013/01/01 00:00:01", time.UTC, 1356998401_000},
		{"2013/13/45", time.UTC, 1392336000_000},
	} {
		if got, err := ParseTime(c.text, c.zone, now); err != nil || got != c.want {
			t.Errorf("%s in %s: %d, %v, want %d", c.text, c.zone, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "x", "-5", "1.2.3", "1356998400.1234", "2013/1/1", "2013/xx/01", "5q-ago", "99999999999999999999"} {
		if got, err := ParseTime(bad, time.UTC, now); err == nil {
			t.Errorf("%q is read as %d", bad, got)
		}
	}
}

// TestDouble prints floats as Java does.
func TestDouble(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", 0.001: "0.001", 0.0001: "1.0E-4", 9999999: "9999999.0", 1e7: "1.0E7", 1.5e300: "1.5E300", -2.25: "-2.25", 1e-300: "1.0E-300",
		math.Copysign(0, -1): "-0.0",
	} {
		if got := string(AppendDouble(nil, v)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := string(AppendDouble(nil, math.NaN())); got != `"NaN"` {
		t.Error(got)
	}
}

// TestWildcard matches as a TSD does, overlaps included.
func TestWildcard(t *testing.T) {
	for _, c := range []struct {
		kind, pattern, value string
		want                 bool
	}{
		{"wildcard", "web*", "web01", true},
		{"wildcard", "web*", "aweb01", false},
		{"wildcard", "*01", "web01", true},
		{"wildcard", "*01", "web011", false},
		{"wildcard", "*eb*", "web01", true},
		{"wildcard", "w*1", "web01", true},
		{"wildcard", "WEB*", "web01", false},
		{"iwildcard", "WEB*", "web01", true},
		{"wildcard", "w*b*1", "web01", true},
		{"wildcard", "*", "", true},
		{"wildcard", "***", "x", true},
	} {
		f, err := NewFilter("k", c.kind, c.pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		if m := f.matcher(nil); (m == nil || m(c.value)) != c.want {
			t.Errorf("%s %s of %s: not %v", c.kind, c.pattern, c.value, c.want)
		}
	}
}

// FuzzRequests finds no request that panics when it is read, checked and planned.
func FuzzRequests(f *testing.F) {
	f.Add("start=1h-ago&m=sum:1m-avg:rate{counter,,10}:a{host=*}{dc=x|y}&tsuid=sum:000001", `{"start":1,"queries":[{"aggregator":"sum","metric":"a","tags":{"h":"*"}}]}`)
	f.Add("start=2013/01/01&end=now&m=sum:1nc-sum-zero:a&ms", `{"start":"1h-ago","timezone":"Europe/Berlin","useCalendar":true,"queries":[{"aggregator":"p99","tsuids":["00"],"downsample":"1d-avg"}]}`)
	f.Fuzz(func(t *testing.T, parameters, body string) {
		var requests []*Request
		if v, err := url.ParseQuery(parameters); err == nil {
			if r, err := ParseParameters(v, nil); err == nil {
				requests = append(requests, r)
			}
		}
		if r, err := ParseJSON([]byte(body)); err == nil {
			requests = append(requests, r)
		}
		for _, r := range requests {
			if r.Check(time.UnixMilli(1700000000000)) != nil {
				continue
			}
			for i := range r.Queries {
				p := r.Queries[i].plan(r)
				if p.Range.ScanStart > p.Range.Start || p.Range.ScanEnd < p.Range.End {
					t.Errorf("%+v is read from %+v", r, p.Range)
				}
				for _, filter := range r.Queries[i].Filters {
					if m := filter.matcher(backtrack.NewSteps(100_000, nil)); m != nil {
						m(strings.Repeat("ab", 50))
					}
				}
			}
		}
	})
}

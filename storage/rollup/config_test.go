package rollup

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

func known(name string) bool { return name != "nope" }

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig([]byte(`{"aggregationIds":{"SUM":0,"count":1},"unknown":7,"intervals":[
		{"table":"tsdb","preAggregationTable":"pre","interval":"1m","rowSpan":"1h","defaultInterval":true},
		{"table":"t1h","preAggregationTable":"p1h","interval":"1h","rowSpan":"1n","delaySla":"2d"},
		{"table":"t10m","preAggregationTable":"p1h","interval":"10m","rowSpan":"6h"}]}`), known)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{IDs: map[string]byte{"sum": 0, "count": 1}, Intervals: []Interval{
		{Name: "1h", Seconds: 3600, Span: schema.RollupSpan{Unit: 'n', N: 1}, Table: "t1h", PreAggregated: "p1h", Delay: 48 * time.Hour},
		{Name: "10m", Seconds: 600, Span: schema.RollupSpan{Unit: 'h', N: 6}, Table: "t10m", PreAggregated: "p1h"},
		{Name: "1m", Seconds: 60, Span: schema.RollupSpan{Unit: 'h', N: 1}, Table: "tsdb", PreAggregated: "pre", Default: true},
	}}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"p1h", "pre", "t10m", "t1h"}, c.Tables()); d != "" {
		t.Error(d)
	}
	for seconds, want := range map[int64]string{3600: "1h 10m 1m", 7200: "1h 10m 1m", 1200: "10m 1m", 60: "1m", 90: "", 0: "", 30: ""} {
		var names []string
		for _, i := range c.Fitting(seconds) {
			names = append(names, i.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("of %d seconds: %q, want %q", seconds, got, want)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	const ids, raw = `"aggregationIds":{"sum":0}`, `{"table":"tsdb","preAggregationTable":"pre","interval":"1m","rowSpan":"1h","defaultInterval":true}`
	with := func(interval string) string { return `{` + ids + `,"intervals":[` + raw + `,` + interval + `]}` }
	for text, want := range map[string]string{
		`{`:                  "unexpected end",
		`{}`:                 "no intervals were found",
		`{"intervals":[{}]}`: "no ids of aggregations",
		`{` + ids + `,"intervals":[{"interval":"1m"}]}`:                                "table and preAggregationTable must be set",
		`{"aggregationIds":{"sum":128},"intervals":[` + raw + `]}`:                     "the id 128 is not between 0 and 127",
		`{"aggregationIds":{"sum":-1},"intervals":[` + raw + `]}`:                      "the id -1 is not between 0 and 127",
		`{"aggregationIds":{"sum":1,"max":1},"intervals":[` + raw + `]}`:               `"max" and "sum" have the same id 1`,
		`{"aggregationIds":{"nope":1},"intervals":[` + raw + `]}`:                      "no such aggregator",
		`{` + ids + `,"intervals":[` + strings.Replace(raw, "true", "false", 1) + `]}`: "0 rollup intervals are the default interval",
		with(raw): "configured twice",
		with(`{"table":"t","preAggregationTable":"p","interval":"1h","rowSpan":"1h"}`):                "must have at least 12",
		with(`{"table":"t","preAggregationTable":"p","interval":"1m","rowSpan":"1n"}`):                "at most 3840",
		with(`{"table":"t","preAggregationTable":"p","interval":"10m","rowSpan":"3h"}`):               "must be 1 or even",
		with(`{"table":"t","preAggregationTable":"p","interval":"10m","rowSpan":"2d"}`):               "only hours may be multiplied",
		with(`{"table":"t","preAggregationTable":"p","interval":"10m","rowSpan":"1w"}`):               "want a number and h, d, n or y",
		with(`{"table":"t","preAggregationTable":"p","interval":"10m","rowSpan":"-1h"}`):              "want a number and h, d, n or y",
		with(`{"table":"t","preAggregationTable":"p","interval":"500ms","rowSpan":"1h"}`):             "is not a duration",
		with(`{"table":"tsdb","preAggregationTable":"p","interval":"1h","rowSpan":"1d"}`):             "which the default interval says is that of the points",
		with(`{"table":"t","preAggregationTable":"p","interval":"1h","rowSpan":"1d","delaySla":"1"}`): "delaySla",
	} {
		if _, err := ParseConfig([]byte(text), known); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"aggregationIds":{"sum":0},"intervals":[{"table":"tsdb","preAggregationTable":"pre","interval":"1m","rowSpan":"1h","defaultInterval":true}]}`, uint32(7))
	f.Fuzz(func(t *testing.T, text string, at uint32) {
		c, err := ParseConfig([]byte(text), known)
		if err != nil {
			return
		}
		for i := range c.Intervals {
			p := Point{Interval: &c.Intervals[i], Time: at}
			if p.base() > at || p.number() < 0 || p.number() >= max(schema.MaxRollupIntervals, 1) {
				t.Fatalf("%d of %+v: base %d, interval %d", at, c.Intervals[i], p.base(), p.number())
			}
		}
	})
}

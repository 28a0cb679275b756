package api

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLatestLabels(t *testing.T) {
	for want, p := range map[string]LatestPoint{
		`{name="a.b"}`:                {Name: "a.b", Tags: map[string]string{"name": "a.b"}},
		`{name="sumSeries(a.*)"}`:     {Name: "sumSeries(a.*)", Tags: map[string]string{"name": "sumSeries(a.*)", "aggregatedBy": "sum"}},
		`{host="x"}`:                  {Name: "a.b;host=x", Tags: map[string]string{"name": "a.b", "host": "x"}},
		`{host="x", name="short"}`:    {Name: "short", Tags: map[string]string{"name": "a.b", "host": "x"}},
		`{host="x", name="a.b;dc=1"}`: {Name: "a.b;dc=1", Tags: map[string]string{"name": "a.b", "host": "x"}},
		`{dc="1", host="x"}`:          {Name: "a.b;dc=1;host=x", Tags: map[string]string{"name": "a.b", "host": "x", "dc": "1"}},
		`{}`:                          {},
	} {
		if got := p.Labels().String(); got != want {
			t.Errorf("labels %s, want %s", got, want)
		}
	}
}

// The last point of a series is looked for in the window, and in two steps of a series with longer ones.
func TestLatest(t *testing.T) {
	w := newWeb(t)
	const now = webNow / 3600 * 3600
	w.Add(t, strings.NewReader(fmt.Sprintf("minute.a 1 %d\nminute.b 2 %d\nminute.c 3 %d\n", now-60, now-230, now-600)))
	s := w.api
	for _, c := range []struct {
		target string
		at     int64
		window time.Duration
		want   string
	}{
		{"minute.*", now, 5 * time.Minute, "[{minute.a 1} {minute.b 2}]"},
		{"minute.*", now, 20 * time.Minute, "[{minute.a 1} {minute.b 2} {minute.c 3}]"},
		{"minute.*", now - 61, time.Minute, "[]"},
		{"alias(summarize(sumSeries(minute.*), '1h', 'sum'), 'hour')", now + 30, time.Minute, "[{hour 6}]"},
		{"sumSeries(minute.*)", now, 5 * time.Minute, "[{sumSeries(minute.*) 1}]"},
		{"nothing", now, time.Minute, "[]"},
	} {
		points, err := s.Latest(t.Context(), LatestQuery{Target: c.target, At: time.Unix(c.at, 0), Window: c.window})
		if err != nil {
			t.Fatal(err)
		}
		got := "["
		for i, p := range points {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("{%s %v}", p.Name, p.Value)
		}
		if got += "]"; got != c.want {
			t.Errorf("%s at %d: %s, want %s", c.target, c.at, got, c.want)
		}
	}
	if _, err := s.Latest(t.Context(), LatestQuery{Target: ")(", At: time.Unix(now, 0), Window: time.Minute}); err == nil {
		t.Error("a bad target is evaluated")
	}
}

func TestCheckTarget(t *testing.T) {
	for _, good := range []string{
		"a.*", "sumSeries(a.*)", " sumSeries( a.* ) ", "sumSeries(a.*, b.*)|scale(2)", "movingAverage(a.*,'1min')", "movingAverage(a, windowSize=5)", "randomWalk('x')",
		"template(scale(a.$x, 2), x='b')", "seriesByTag('name=a', 'b=c')", "a.{b,c}.d", "alias(a, 'é')", "scale(	a, 1)",
	} {
		if err := CheckTarget(good, false); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		")(":                              "expected a path, a function call or a template",
		"":                                "expected a path, a function call or a template",
		"sumSeries(":                      `"(" at character 10 does not belong to it`,
		"sumSeries(a.*, b":                `"(a.*, b" at character 10 does not belong to it`,
		"sumSeries(a))":                   `")" at character 13 does not belong to it`,
		"a b":                             `"b" at character 3 does not belong to it`,
		"a.é":                             `".é" at character 2 does not belong to it`,
		"alias(a, 'é') x":                 `"x" at character 15 does not belong to it`,
		"removeBelowValue(a, 8) > 1":      `"> 1" at character 24 does not belong to it`,
		"sumSeris(a)":                     "unknown function: sumSeris",
		"scale(sumSeris(a), 1)":           `did you mean sumSeries`,
		"a|sumSeris()":                    "unknown function: sumSeris",
		"scale(a)":                        "scale() missing required argument: 'factor'",
		"scale(a, 1, 2)":                  "scale() takes 2 arguments but 3 were given",
		"a|scale(1, 2)":                   "scale() takes 2 arguments but 3 were given",
		"scale(a, 1, factor=2)":           "scale() got multiple values for argument 'factor'",
		"scale(a, faktor=2)":              "missing required argument",
		"movingAverage(a, 5, windoe=2)":   "movingAverage() got an unexpected keyword argument 'windoe'",
		"alias(template(nofunc(a)), 'b')": "unknown function: nofunc",
	} {
		if err := CheckTarget(bad, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

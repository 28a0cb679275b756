package graphite

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
	s := &Server{api: w.api}
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
	if CheckTarget("sumSeries(a.*)", false) != nil || CheckTarget(")(", false) == nil {
		t.Error("CheckTarget does not check")
	}
}

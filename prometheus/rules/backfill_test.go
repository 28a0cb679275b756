package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/query"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// Recording rules get the points of the past that they would have had, rules of a group see each other, and
// a series that ends is stale.
func TestBackfill(t *testing.T) {
	h := newHouse(t)
	base := time.Now().Add(-3 * time.Hour).Truncate(time.Hour)
	at := func(minutes int) time.Time { return base.Add(time.Duration(minutes) * time.Minute) }
	for m := range 60 {
		h.write(`{__name__="load", host="a"}`, at(m), float64(m))
	}
	file := filepath.Join(t.TempDir(), "r.yml")
	text := `
groups:
  - name: one
    interval: 1m
    rules:
      - {record: 'load:sum', expr: sum(load), labels: {by: rule}}
      - {alert: Never, expr: load > 1}
      - {record: 'load:double', expr: load:sum * 2}
  - name: two
    rules:
      - {record: 'load:high', expr: load > 30 and load < 40}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := rules.Load(rules.Config{Files: []string{file}, Interval: 2 * time.Minute}, query.DefaultOptions().Parser(), testChecks())
	if err != nil {
		t.Fatal(err)
	}
	s := rules.New(h.o)
	s.Use(&rules.Set{}, h.evaluators())
	var told []string
	fill := rules.Backfill{Set: set, Start: at(10), End: at(50), Progress: func(group string, done, all, samples int) error {
		told = append(told, fmt.Sprintf("%s %d/%d %d", group, done, all, samples))
		return nil
	}}
	for range 2 { // again is the same
		if err := s.Backfill(t.Context(), fill); err != nil {
			t.Fatal(err)
		}
	}
	value := func(text string, minute int) string {
		v, err := h.api.Instant(t.Context(), text, "", at(minute))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, s := range v {
			fmt.Fprint(&b, s.Metric, " ", s.F)
		}
		return b.String()
	}
	for query, want := range map[string]string{
		"count_over_time(load:sum[1h])":           `{by="rule"} 40`,
		"max_over_time(load:high[1h]) > bool 37":  `{host="a"} 1`,
		"count_over_time(load:high[1h]) > bool 3": `{host="a"} 1`,
		"ALERTS": "",
	} {
		if got := value(query, 59); got != want {
			t.Errorf("%s = %s, want %s", query, got, want)
		}
	}
	if got := value("load:double - load:sum * 2", 30); !strings.HasSuffix(got, " 0") {
		t.Errorf("the second rule has not seen the first: %s", got)
	}
	if got := value("load:high", 43); got != "" {
		t.Errorf("what has ended is shown: %s", got)
	}
	if last := told[len(told)-1]; !strings.HasPrefix(last, "two ") || !strings.Contains(strings.Join(told, "\n"), "one 40/40 80") {
		t.Errorf("told %v", told)
	}
	if err := s.Backfill(t.Context(), rules.Backfill{Set: set, Start: at(5), End: at(5), Progress: fill.Progress}); err == nil {
		t.Error("nothing is filled without an error")
	}
}

package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// A template that expands without a bound fails its rule, which names it, in little time and memory. Other templates give what
// Prometheus makes of them.
func TestTexts(t *testing.T) {
	doubled := func(first, again string) string {
		return first + strings.Repeat(again, 60)
	}
	h := newHouse(t)
	now := time.Now()
	for i := range 50 {
		h.write(fmt.Sprintf(`{__name__="load", host="h%d"}`, i), now, 2)
	}
	const (
		tooLong = "it is longer than 1048576 bytes"
		tooMuch = "its template takes more than "
	)
	for name, c := range map[string]struct{ text, want, err string }{
		"plain":        {text: "a text", want: "a text"},
		"usual":        {text: `{{ $labels.host }} in {{ $externalLabels.site }}{{ .Labels.none }} has {{ $value | humanize }} ({{ printf "%.2f" $value }})`, want: "h0 in  has 2 (2.00)"},
		"index":        {text: `{{ index $labels "host" | toUpper }}`, want: "H0"},
		"branches":     {text: `{{ if gt $value 1.0 }}high{{ else }}low{{ end }}{{ with $labels.none }}x{{ end }}`, want: "high"},
		"braces":       {text: `{ {{- $labels.host -}} }{{ "{{" }}`, want: "{h0}{{"},
		"query":        {text: `{{ query "count(load)" | first | value }}`, want: "50"},
		"range":        {text: `{{ range query "sort(load{host=~'h[123]'})" }}{{ .Labels.host }} {{ end }}{{ range $i, $s := query "nothing" }}x{{ else }}none{{ end }}`, want: "h1 h2 h3 none"},
		"template":     {text: `{{ define "who" }}<{{ . }}>{{ end }}{{ template "who" $labels.host }}{{ template "who" 3 }}`, want: "<h0><3>"},
		"variable":     {text: `{{ $x := "a" }}{{ $x = printf "%s%s" $x $x }}{{ $x }}{{ args 1 "b" }}`, want: "aamap[arg0:1 arg1:b]"},
		"replaced":     {text: `{{ reReplaceAll "h(.*)" "$1$1" "h12" }}{{ match "h" $labels.host }}`, want: "1212true"},
		"many numbers": {text: `{{ range 5000 }}{{ len (printf "%03d" .) }}{{ end }}`, want: strings.Repeat("3", 1000) + "4*"},
		"error":        {text: `{{ $labels.host }}{{ query "nothing" | first }}`, want: "<error expanding template: error executing template __alert_A: template: __alert_A:1:151: executing \"__alert_A\" at <first>: error calling first: first() called on vector with no elements>"},
		"long output":  {text: `{{ range 1000000 }}ten bytes {{ end }}`, err: tooLong},
		"long values":  {text: `{{ range query "load" }}{{ range query "load" }}{{ range query "load" }}{{ .Labels.host }} and what else is told of it{{ end }}{{ end }}{{ end }}`, err: tooLong},
		"no output":    {text: `{{ range 1000000000 }}{{ end }}`, err: tooMuch},
		"templates":    {text: `{{ define "a" }}{{ template "b" }}{{ template "b" }}{{ end }}` + doubledTemplates(60) + `{{ template "a" }}`, err: tooMuch},
		"variables":    {text: doubled(`{{ $x := "12345678" }}`, `{{ $x = printf "%s%s" $x $x }}`), err: tooMuch},
		"prints":       {text: doubled(`{{ $x := "12345678" }}`, `{{ $x = print $x $x }}`), err: tooMuch},
		"arguments":    {text: doubled(`{{ $x := args 1 2 }}`, `{{ $x = args $x $x }}`) + `{{ $x }}`, err: tooMuch},
		"width":        {text: `{{ printf "` + strings.Repeat("%1000000d", 2000) + `" 1 }}`, err: tooMuch},
		"width given":  {text: `{{ printf "` + strings.Repeat("%*d", 2000) + `" ` + strings.Repeat("1000000 1 ", 2000) + `}}`, err: tooMuch},
		"one width":    {text: `{{ range 1000 }}{{ $x := printf "%1000000d" 1 }}{{ end }}`, err: tooMuch},
		"replacements": {text: `{{ reReplaceAll "" (printf "%900000d" 1) (printf "%900000d" 1) }}`, err: tooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			h := &house{T: t, api: h.api, o: h.o, shown: h.shown, appender: h.appender}
			s := rules.New(h.o)
			s.Use(h.set(fmt.Sprintf(`
groups:
  - name: first
    rules:
      - {alert: A, expr: 'load{host="h0"} > 1', annotations: {text: %q}}
      - {alert: B, expr: 'load{host="h0"} > 1', annotations: {text: b}}
`, c.text)), h.evaluators())
			h.run(s)
			var a, b *promrules.AlertingRule
			h.await("the rules are evaluated", func() bool {
				for _, g := range s.RuleGroups() {
					all := g.Rules()
					a, b = all[0].(*promrules.AlertingRule), all[1].(*promrules.AlertingRule) //nolint:forcetypeassert // the set has them
					return !b.GetEvaluationTimestamp().IsZero()
				}
				return false
			})
			if err := b.LastError(); err != nil || b.ActiveAlertsCount() != 1 {
				t.Errorf("the other rule: %v", err)
			}
			if c.err != "" {
				if err := a.LastError(); err == nil || !strings.HasPrefix(err.Error(), `alert "A": annotation "text": `+c.err) {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if err := a.LastError(); err != nil {
				t.Fatal(err)
			}
			got := a.ActiveAlerts()[0].Annotations.Get("text")
			if want, isHead := strings.CutSuffix(c.want, "*"); got != c.want && (!isHead || !strings.HasPrefix(got, want)) {
				t.Errorf("text %.300q, want %.300q", got, c.want)
			}
		})
	}
}

// doubledTemplates returns templates each of which calls the next one twice.
func doubledTemplates(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{{ define "%c" }}{{ template "%c" }}{{ template "%c" }}{{ end }}`, 'b'+i, 'c'+i, 'c'+i)
	}
	fmt.Fprintf(&b, `{{ define "%c" }}{{ end }}`, 'b'+n)
	return b.String()
}

// counting counts the queries of an evaluator.
type counting struct {
	rules.Evaluator
	asked chan<- string
}

func (c counting) Evaluate(ctx context.Context, q rules.Question) (promql.Vector, error) {
	c.asked <- q.Text
	return c.Evaluator.Evaluate(ctx, q)
}

// A query in the template of a rule is asked once in an evaluation, for all its alerts.
func TestTemplateQueriesOnce(t *testing.T) {
	h := newHouse(t)
	for i := range 10 {
		h.write(fmt.Sprintf(`{__name__="load", host="h%d"}`, i), time.Now(), 2)
	}
	asked := make(chan string, 10_000)
	e := h.evaluators()
	e[rules.PromQL] = counting{e[rules.PromQL], asked}
	s := rules.New(h.o)
	s.Use(h.set(`
groups:
  - name: first
    rules:
      - {alert: A, expr: load > 1, annotations: {text: '{{ query "count(load)" | first | value }} {{ query "max(load)" | first | value }}'}}
      - {record: b, expr: count(load)}
      - {alert: C, expr: load > 1, annotations: {text: '{{ query "count(load)" | first | value }}'}}
`), e)
	if err := s.EvaluateOnce(h.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	close(asked)
	got := map[string]int{}
	for text := range asked {
		got[text]++
	}
	if fmt.Sprint(got) != "map[count(load):3 load > 1:2 max(load):1]" {
		t.Errorf("asked %v", got)
	}
}

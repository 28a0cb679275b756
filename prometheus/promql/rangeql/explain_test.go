package rangeql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
)

// outline prints the steps of a plan without their times.
func outline(b *strings.Builder, s *rangeql.Step, indent string) {
	if s == nil {
		return
	}
	fmt.Fprintf(b, "%s%d %s [%s] series %d samples %d", indent, s.ID, s.Operator, s.Expression, s.Series, s.Samples)
	if s.Shared > 1 {
		fmt.Fprintf(b, " shared %d", s.Shared)
	}
	if s.Again {
		b.WriteString(" again")
	}
	if len(s.Reads) > 0 {
		fmt.Fprintf(b, " reads %v", s.Reads)
	}
	b.WriteString("\n")
	for _, in := range s.Inputs {
		outline(b, in, indent+" ")
	}
}

func explained(t *testing.T, e engines, source promstorage.Queryable, text string) (rangeql.Explanation, string) {
	t.Helper()
	q := question{text: text, start: 600_000, end: 1200_000, step: time.Minute}
	q.instant = strings.HasSuffix(text, "]") || strings.HasPrefix(text, `"`)
	r, query := q.ask(t, e.ours, source)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	defer query.Close()
	x := rangeql.Explain(query)
	var b strings.Builder
	outline(&b, x.Plan, "")
	for i, r := range x.Reads {
		fmt.Fprintf(&b, "read %d: %v series %d samples %d\n", i, r.Matchers, r.Series, r.Samples)
		if r.Took <= 0 {
			t.Errorf("%s: reading took %v", text, r.Took)
		}
	}
	return x, b.String()
}

// TestExplain: an explanation shows the operators, what they found, and what is shared.
func TestExplain(t *testing.T) {
	e := newEngines(t, manySamples, false)
	s := memoryColumns(20, 240)
	for text, want := range map[string]string{
		`sum by (group) (rate(m[5m]))`: `
1 aggregation [sum by (group) (rate(m[5m]))] series 10 samples 110
 2 range function [rate(m[5m])] series 20 samples 220 reads [0]
read 0: [__name__="m"] series 20 samples 4800
`,
		`sum(m) / sum(m) > bool count(m)`: `
1 binary operation [sum(m) / sum(m) > bool count(m)] series 1 samples 11
 2 binary operation [sum(m) / sum(m)] series 1 samples 11
  3 aggregation [sum(m)] series 1 samples 11 shared 2
   4 selector [m] series 20 samples 220 shared 2 reads [0]
  3 aggregation [sum(m)] series 1 samples 11 shared 2 again
 5 aggregation [count(m)] series 1 samples 11
  4 selector [m] series 20 samples 220 shared 2 again
read 0: [__name__="m"] series 20 samples 4800
`,
		`m{i="3"}[2m]`: `
1 samples [m{i="3"}[2m]] series 20 samples 160 reads [0]
read 0: [i="3" __name__="m"] series 20 samples 4800
`,
		`"text"`: "\n1 string [\"text\"] series 0 samples 0\n",
	} {
		x, got := explained(t, e, s, text)
		if got = "\n" + got; got != want || x.Path != "columns" || x.Left != "" {
			t.Errorf("%s by %s %s:%s", text, x.Path, x.Left, got)
		}
	}
}

// TestExplainLeft: an explanation names the reason why a query was left to the library.
func TestExplainLeft(t *testing.T) {
	s := teststorage.New(t)
	e := newEngines(t, manySamples, false)
	x, _ := explained(t, e, columnSource{Queryable: s}, "timestamp(m @ 600 offset 1m)")
	if x.Path != "engine" || x.Left != "timestamp of a selector with @ and offset" || x.Plan == nil || len(x.Plan.Inputs) != 1 {
		t.Errorf("%+v", x)
	}
	writeRandom(t, s, rand.New(rand.NewPCG(13, 14)), 30)
	q := question{text: `histogram_quantiles(requests_total, "q", time() / 1e6)`, start: 1800_000, end: 1900_000, step: time.Minute}
	_, query := q.ask(t, e.ours, columnSource{Queryable: s})
	defer query.Close()
	x = rangeql.Explain(query)
	if x.Path != "handed_over" || x.Left != "a label that changes with the step" || len(x.Reads) != 1 || x.Plan.Inputs[0].Series == 0 {
		t.Errorf("%+v", x)
	}
}

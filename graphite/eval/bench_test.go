package eval

import (
	"context"
	"fmt"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// wide is 1000 series of 1440 points of 10 s.
type wide []*series.Series

func (w wide) Fetch(_ context.Context, list []Fetch) ([][]*series.Series, error) {
	out := make([][]*series.Series, len(list))
	for i := range out {
		out[i] = w
	}
	return out, nil
}

func BenchmarkEval(b *testing.B) {
	var w wide
	for i := range 1000 {
		values := make([]float64, 1440)
		for j := range values {
			values[j] = float64(i*j%997) + 0.5
		}
		w = append(w, &series.Series{Name: fmt.Sprintf("servers.web%04d.cpu.%d.user", i/4, i%4), Start: 10, End: 14410, Step: 10, Values: values})
	}
	e := New()
	for _, target := range []string{
		"servers.*.cpu.*.user", "sumSeries(servers.*.cpu.*.user)", "groupByNode(servers.*.cpu.*.user,1,'max')",
		"alias(nonNegativeDerivative(scale(servers.*.cpu.*.user,2)),'x')", "perSecond(servers.*.cpu.*.user)",
		"movingAverage(servers.*.cpu.*.user,10)", "movingMedian(servers.*.cpu.*.user,10)",
		`aliasSub(servers.*.cpu.*.user,"(^.*$)","\1 A")`, "summarize(servers.*.cpu.*.user,'5min')",
	} {
		nodes := parseAll(b, target)
		b.Run(target, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Eval(b.Context(), nodes, call.Request{From: 0, Until: 14400, Now: 14400}, w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

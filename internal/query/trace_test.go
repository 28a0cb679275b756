package query

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A trace shows nodes with their own times, their results, and the reads that they use.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, whole := BeginTally(t.Context())
		ctx, trace := BeginTrace(ctx)
		sum := TraceOf(ctx).Enter("sum", "sum(a.*)")
		time.Sleep(time.Second)
		reading, r := trace.Reading(ctx, "a.*", 1000, 2000)
		TallyOf(reading).Add(Near, Counts{Plans: 1, Asked: 5, Rows: 4, Cells: 4, Bytes: 100})
		time.Sleep(5 * time.Second)
		read := r.End(3, 12)
		leaf := trace.Enter("series", "a.*")
		time.Sleep(2 * time.Second)
		leaf.Uses(read)
		leaf.Result(3, 12)
		leaf.End()
		failed := trace.Enter("broken", "")
		failed.End()
		sum.Result(1, 4)
		time.Sleep(time.Second)
		sum.End()
		want := &Node{ID: 1, Operator: "sum", Expression: "sum(a.*)", Series: 1, Samples: 4, Seconds: 2, Inputs: []*Node{
			{ID: 2, Operator: "series", Expression: "a.*", Series: 3, Samples: 12, Seconds: 2, Bytes: 100, Reads: []int{0}},
			{ID: 3, Operator: "broken", NotDone: true},
		}}
		if diff := cmp.Diff(want, trace.Plan("targets")); diff != "" {
			t.Error(diff)
		}
		ways := []WayCounts{{Way: "near", Counts: Counts{Plans: 1, Asked: 5, Rows: 4, Cells: 4, Bytes: 100}}}
		wantRead := &Read{
			Selector: "a.*", Start: time.UnixMilli(1000).UTC(), End: time.UnixMilli(2000).UTC(), Series: 3, Samples: 12,
			Seconds: 5, Rows: 4, Cells: 4, Bytes: 100, Ways: ways,
		}
		if diff := cmp.Diff([]*Read{wantRead}, trace.Reads()); diff != "" {
			t.Error(diff)
		}
		var a Explanation
		if a.Count(whole); a.Bytes != 100 || a.Rows != 4 || a.Cells != 4 || len(a.Ways) != 1 {
			t.Errorf("%+v", a)
		}
		trace.Enter("second", "").End()
		if all := trace.Plan("targets"); all.Operator != "targets" || len(all.Inputs) != 2 || !all.NotDone || all.Series != 1 {
			t.Errorf("%+v", all)
		}
	})
}

// A trace is bounded in nodes, reads and texts.
func TestBounds(t *testing.T) {
	ctx, trace := BeginTrace(t.Context())
	top := trace.Enter("top", strings.Repeat("ü", textBytes))
	for range 2 * mostNodes {
		s := trace.Enter("x", "")
		s.Uses(-1)
		s.Result(1, 1)
		s.End()
	}
	for range 2 * mostReads {
		_, r := trace.Reading(ctx, "x", 0, 1)
		r.End(1, 1)
	}
	top.End()
	plan := trace.Plan("")
	if len(plan.Inputs) != mostNodes-1 || plan.More != mostNodes+1 || len(plan.Expression) > textBytes+5 || len(trace.Reads()) != mostReads {
		t.Errorf("%d inputs, %d more, %d bytes of text, %d reads", len(plan.Inputs), plan.More, len(plan.Expression), len(trace.Reads()))
	}
	if small := plan.Small(10, 20); len(small.Inputs) != 9 || small.More != 2*mostNodes-9 || len(small.Expression) > 25 {
		t.Errorf("%d inputs, %d more", len(small.Inputs), small.More)
	}
}

// Without a trace nothing is kept and nothing fails.
func TestNilTrace(t *testing.T) {
	var none *Trace
	s := TraceOf(context.Background()).Enter("x", "")
	s.Uses(0)
	s.Result(1, 1)
	s.End()
	ctx, r := none.Reading(t.Context(), "x", 0, 1)
	none.Set(&Node{}, nil)
	if r.End(1, 1) != -1 || ctx != t.Context() || none.Plan("") != nil || len(none.Reads()) > 0 || (*Node)(nil).Small(1, 1) != nil {
		t.Error("there is a trace")
	}
}

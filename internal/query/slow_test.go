package query

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Queries that take long are kept and told when they end, the last hundred of them.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry()
		var told []Slow
		r.Watch(time.Second, func(s Slow) { told = append(told, s) })
		run := func(text string, took time.Duration, memory int64) {
			account := NewBudget(1 << 20).Open()
			ctx, q := r.Begin(WithAccount(t.Context(), account), Description{Language: "promql", Text: text, Client: "192.0.2.1"})
			if err := account.Take(memory); err != nil {
				t.Fatal(err)
			}
			account.Give(memory)
			From(ctx).Read(3)
			if From(ctx).IsSlow() {
				t.Error("a query is slow when it begins")
			}
			step := TraceOf(ctx).Enter("selector", text)
			TallyOf(ctx).Add(Range, Counts{Rows: 7})
			time.Sleep(took)
			step.Result(2, 3)
			step.End()
			if slow := took >= time.Duration(r.slowAfter.Load()) && r.slowAfter.Load() > 0; From(ctx).IsSlow() != slow {
				t.Errorf("after %v slow is %t", took, !slow)
			}
			q.End()
		}
		run("quick", time.Second-1, 1)
		run("slow", 2*time.Second, 500)
		run(strings.Repeat("ü", 5000), time.Second, 1)
		list := r.Slow()
		if len(list) != 2 || len(told) != 2 || list[1].Text != "slow" || list[1].Took != 2*time.Second || list[1].Memory != 500 || list[1].Samples != 3 || list[1].Failed != "" {
			t.Errorf("%+v", list)
		}
		if p := list[1].Plan; p == nil || p.Expression != "slow" || p.Seconds != 2 || p.Series != 2 || WaysText(list[1].Ways) != "range=7" {
			t.Errorf("%+v of ways %v", p, list[1].Ways)
		}
		if n := len(list[0].Plan.Expression); n > nodeText+5 {
			t.Errorf("a text of %d bytes is kept", n)
		}
		if n := len(list[0].Text); n > slowText+5 {
			t.Errorf("a text of %d bytes is kept", n)
		}
		_, q := r.Begin(t.Context(), Description{Text: "killed"})
		time.Sleep(time.Second)
		r.Cancel(r.List()[0].ID)
		q.End()
		if list := r.Slow(); list[0].Failed != ErrEnded.Error() {
			t.Errorf("a query that was ended: %+v", list[0])
		}
		for range 2 * mostSlow {
			run("many", time.Second, 1)
		}
		if list := r.Slow(); len(list) != mostSlow || list[0].Text != "many" {
			t.Errorf("%d slow queries are kept", len(list))
		}
		r.Watch(0, nil)
		run("none", time.Hour, 1)
		if list := r.Slow(); list[0].Text != "many" {
			t.Errorf("with 0: %+v", list[0])
		}
	})
	var none *Registry
	if none.Slow() != nil {
		t.Error("nothing is registered, but something was slow")
	}
}

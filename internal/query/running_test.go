package query

import (
	"context"
	"errors"
	"testing"
)

// A query is listed with what it holds and has read, until it ends.
func TestList(t *testing.T) {
	account := NewBudget(1000).Open()
	if err := account.Take(300); err != nil {
		t.Fatal(err)
	}
	r := NewRegistry()
	_, first := r.Begin(WithAccount(t.Context(), account), Description{"promql", "up", "192.0.2.1:5"})
	ctx, second := r.Begin(t.Context(), Description{Language: "graphite", Text: "a.b"})
	From(ctx).Read(7)
	From(ctx).Read(2)
	list := r.List()
	if len(list) != 2 || list[0].Text != "up" || list[0].Memory != 300 || list[0].Client != "192.0.2.1:5" || list[1].Samples != 9 || list[0].ID == list[1].ID {
		t.Errorf("%+v", list)
	}
	first.End()
	second.End()
	if list := r.List(); len(list) > 0 || ctx.Err() == nil {
		t.Errorf("after the end: %+v, context %v", list, ctx.Err())
	}
}

// Cancel ends one query and no other.
func TestCancel(t *testing.T) {
	r := NewRegistry()
	one, q := r.Begin(t.Context(), Description{Text: "one"})
	defer q.End()
	other, q := r.Begin(t.Context(), Description{Text: "other"})
	defer q.End()
	if _, ok := r.Cancel("unknown"); ok {
		t.Error("an unknown query was ended")
	}
	if s, ok := r.Cancel(r.List()[0].ID); !ok || s.Text != "one" {
		t.Errorf("ended %+v, %t", s, ok)
	}
	if !errors.Is(context.Cause(one), ErrEnded) || other.Err() != nil {
		t.Errorf("causes %v, %v", context.Cause(one), context.Cause(other))
	}
}

// Without a registry, or a query in the context, nothing is counted and nothing fails.
func TestNone(t *testing.T) {
	var r *Registry
	ctx, q := r.Begin(t.Context(), Description{})
	q.Read(1)
	q.Estimated()()
	q.End()
	if _, ok := r.Cancel("x"); ok || r.List() != nil || From(ctx) != nil || q.Samples() != 0 || ctx.Err() != nil {
		t.Error("nothing is registered, but something was found")
	}
}

// EndEstimated ends those queries alone whose memory is estimated.
func TestEndEstimated(t *testing.T) {
	r := NewRegistry()
	exact, q := r.Begin(t.Context(), Description{})
	defer q.End()
	estimated, q := r.Begin(t.Context(), Description{})
	defer q.End()
	if r.AnyEstimated() {
		t.Error("an exact query counts as estimated")
	}
	done := From(estimated).Estimated()
	if !r.AnyEstimated() {
		t.Error("the estimated query is not found")
	}
	r.EndEstimated()
	if !errors.Is(context.Cause(estimated), ErrTooLarge) || exact.Err() != nil {
		t.Errorf("causes %v, %v", context.Cause(estimated), context.Cause(exact))
	}
	if done(); r.AnyEstimated() {
		t.Error("it is found after its end")
	}
}

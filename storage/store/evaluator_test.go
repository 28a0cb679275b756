package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// A stepSum adds the values of many series at the steps of a grid. It is the example of an evaluator
// in ARCHITECTURE.md: it needs no query language, and never holds the series that it adds.
type stepSum struct {
	start, interval int64
	sums            []float64
}

// sumOf reads all series between start and the last step.
func sumOf(ctx context.Context, q storage.Querier, refs []storage.Ref, start, interval int64, steps int) ([]float64, error) {
	// The block is taken from the budget before it is allocated. The account is closed, and the
	// memory given back, when the answer has been sent.
	if err := query.AccountOf(ctx).Take(int64(steps) * 8); err != nil {
		return nil, err
	}
	s := &stepSum{start, interval, make([]float64, steps)}
	query := storage.Query{Refs: refs, Start: start, End: start + int64(steps-1)*interval, Samples: true}
	err := q.SelectParts(ctx, query, func() storage.PartWorker { return &stepSumWorker{stepSum: s} })
	if err == nil {
		err = ctx.Err() // An answer is complete or an error.
	}
	return s.sums, err
}

// A stepSumWorker is one core's.
type stepSumWorker struct {
	*stepSum
	columns [][]float64 // of the series of the part, at each step
}

// Take computes what does not depend on other series, while other workers take other parts.
func (w *stepSumWorker) Take(ctx context.Context, p storage.Part) error {
	w.columns = w.columns[:0]
	samples := 0
	for _, series := range p.Points {
		column := make([]float64, len(w.sums))
		for i, t := range series.Times {
			column[(t-w.start)/w.interval] += series.Values[i]
		}
		samples += len(series.Times)
		w.columns = append(w.columns, column)
	}
	query.From(ctx).Read(samples) // once for a part
	return ctx.Err()
}

// Commit adds the part. The parts come in the order of the series, so that each run adds the same
// numbers in the same order.
func (w *stepSumWorker) Commit(context.Context) error {
	for _, column := range w.columns {
		for step, v := range column {
			w.sums[step] += v
		}
	}
	return nil
}

// TestEvaluator runs the example as a request of a query language would: with an account of the
// budget, registered, and ended by its id.
func TestEvaluator(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	const series, interval, steps = 300, 60_000, 10
	var all []storage.Series
	for i := range series {
		all = append(all, storetest.Series("m", "host", fmt.Sprint(i)))
	}
	refs := storetest.Resolve(t, s, all...)
	var b storage.Batch
	want := make([]float64, steps)
	for i, ref := range refs {
		for step := range steps {
			b.Add(ref, int64(step)*interval, float64(i*step))
			want[step] += float64(i * step)
		}
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	registry := query.NewRegistry()
	for _, c := range []struct {
		name   string
		memory int64
		end    bool
		want   error
	}{
		{"answered", 1 << 20, false, nil},
		{"too little memory", 10, false, query.ErrTooLarge},
		{"ended by its id", 1 << 20, true, context.Canceled},
	} {
		account := query.NewBudget(c.memory).Open()
		ctx, q := registry.Begin(query.WithAccount(t.Context(), account), query.Description{Language: "example", Text: c.name})
		if c.end {
			registry.Cancel(registry.List()[0].ID)
		}
		sums, err := sumOf(ctx, s, refs, 0, interval, steps)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && (!slices.Equal(sums, want) || q.Samples() != series*steps || account.Held() != steps*8) {
			t.Errorf("%s: %v, want %v; %d samples, %d bytes", c.name, sums, want, q.Samples(), account.Held())
		}
		if c.end && !errors.Is(context.Cause(ctx), query.ErrEnded) {
			t.Errorf("%s: %v", c.name, context.Cause(ctx))
		}
		q.End()
		account.Close()
	}
}

package store_test

import (
	"context"
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// pausing is a shared engine that calls pause before the first change of the data table with a context from with.
type pausing struct {
	*kv.Shared
	pause func()
}

type pausingKey struct{}

func (p *pausing) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, pausingKey{}, true)
}

func (p *pausing) at(ctx context.Context, table string) {
	if pause := p.pause; ctx.Value(pausingKey{}) != nil && table == "tsdb" && pause != nil {
		p.pause = nil
		pause()
	}
}

func (p *pausing) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	p.at(ctx, table)
	return p.Shared.Apply(ctx, table, family, rows)
}

func (p *pausing) ApplyUnchanged(ctx context.Context, table, family string, rows []kv.Conditional) ([]bool, error) {
	p.at(ctx, table)
	return p.Shared.ApplyUnchanged(ctx, table, family, rows)
}

// TestDeletionWhileRowIsRewritten: a process that has read a row, because it corrects or deletes a point of it, does not put
// back another point of the same cell that a second process deletes before the change is made.
func TestDeletionWhileRowIsRewritten(t *testing.T) {
	const at = 1356998400000
	for name, change := range map[string]func(context.Context, *store.Store, storage.Ref) error{
		"correction": func(ctx context.Context, s *store.Store, ref storage.Ref) error {
			var b storage.Batch
			b.Add(ref, at+1000, 7.5)
			return s.Append(ctx, &b)
		},
		"deletion": func(ctx context.Context, s *store.Store, ref storage.Ref) error {
			_, err := s.Delete(ctx, storage.Deletion{Refs: []storage.Ref{ref}, Start: at + 1000, End: at + 1000})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := &pausing{Shared: kv.NewShared(storetest.Tables()...)}
			shared := func(o *store.Options) { o.Exclusive = false }
			one, other := storetest.Start(t, db, shared), storetest.Start(t, db, shared)
			list := []storage.Series{storetest.Series("m", "host", "a")}
			refs, theirs := one.Resolve(list), other.Resolve(list)
			model := storetest.NewModel(1)
			var b storage.Batch
			for n := range int64(5) { // one cell
				b.Add(refs[0], at+n*1000, float64(n)+0.5)
				model.Put(0, at+n*1000, storetest.Sample{Bits: math.Float64bits(float64(n) + 0.5)})
			}
			if err := one.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			db.pause = func() {
				if _, err := other.Delete(t.Context(), storage.Deletion{Refs: theirs, Start: at + 2000, End: at + 3000}); err != nil {
					t.Error(err)
				}
			}
			if err := change(db.with(t.Context()), one.Store, refs[0]); err != nil {
				t.Fatal(err)
			}
			if db.pause != nil {
				t.Fatal("no change of the table was made")
			}
			model.Delete(0, at+2000, at+3000)
			if model.Delete(0, at+1000, at+1000); name == "correction" {
				model.Put(0, at+1000, storetest.Sample{Bits: math.Float64bits(7.5)})
			}
			model.Check(t, one.Store, refs, 0, storage.MaxTime)
		})
	}
}

package operator

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// heldSource finds a million series, and takes memory for them.
type heldSource struct{ finds int }

func (s *heldSource) Columns(ctx context.Context, _ columns.Selector) (columns.Set, error) {
	s.finds++
	return manyColumns{}, query.AccountOf(ctx).Take(1000)
}

type manyColumns struct{ columns.Set }

func (manyColumns) Len() int { return 1_000_000 }

// TestWaitingHoldsNothing: a large query that waits for others does not hold the series it has found,
// and finds them again.
func TestWaitingHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, b := query.NewTurns(1), query.NewBudget(1<<20)
		first, err := shared.Begin(t.Context())
		if err != nil || first.Expect(1<<30) {
			t.Fatal("the first one waits", err)
		}
		first.Pause() // It has the place, and others compute.
		account, source := b.Open(), &heldSource{}
		defer account.Close()
		turn, err := shared.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx := query.WithTurn(query.WithAccount(t.Context(), account), turn)
		done := make(chan error)
		go func() {
			e := &Evaluation{Ctx: ctx, Source: source, Account: account}
			_, err := e.Find(ctx, columns.Selector{End: 3_600_000}, 1000)
			done <- err
		}()
		synctest.Wait()
		if account.Held() != 0 || source.finds != 1 {
			t.Errorf("%d bytes are held while the query waits, after %d finds", account.Held(), source.finds)
		}
		first.End()
		if err := <-done; err != nil || account.Held() != 1000 || source.finds != 2 {
			t.Errorf("in the end %d bytes are held, after %d finds: %v", account.Held(), source.finds, err)
		}
		turn.End()
	})
}

package rules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// groupKey finds the name of the group that is evaluated in a context.
type groupKey struct{}

// iterate evaluates a group once. All its rules share an account of the budget; a rule gives its
// memory back when its samples are durable.
func (s *Service) iterate(ctx context.Context, g *promrules.Group, at time.Time) {
	account := s.o.Budget.Open()
	defer account.Close()
	ctx = context.WithValue(query.WithAccount(ctx, account), groupKey{}, g.Name())
	s.shifts.inTurn(ctx, g, at, evaluateGroup)
}

// query evaluates a query. What the evaluation took besides its result
// goes back at once.
func (s *Service) query(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
	name, _ := ctx.Value(groupKey{}).(string)
	account := query.AccountOf(ctx)
	before := account.Held()
	v, err := s.evaluators.Load().evaluate(ctx, Question{Text: text, Client: fmt.Sprintf("rule group %q", name), At: at})
	account.Give(account.Held() - before)
	if p := passOf(ctx); p != nil {
		if _, ok := errors.AsType[promql.ErrStorage](err); ok {
			p.failed.Store(true)
		}
	}
	if err != nil {
		return nil, err
	}
	return v, account.Take(vectorBytes(v))
}

// evaluate evaluates a query in the language that its text says.
func (e Evaluators) evaluate(ctx context.Context, q Question) (promql.Vector, error) {
	f, ok := parseForeign(q.Text, slices.Collect(maps.Keys(e)))
	if !ok {
		return e[PromQL].Evaluate(ctx, q)
	}
	q.Text, q.Window = f.text, f.window
	return e[f.language].Evaluate(ctx, q)
}

// sampleBytes is about what a sample takes besides its labels, in the result and in the transaction.
const sampleBytes = 256

func vectorBytes(v promql.Vector) int64 {
	n := int64(0)
	for _, s := range v {
		n += sampleBytes + 2*int64(s.Metric.ByteSize())
		if s.H != nil {
			n += int64(s.H.Size())
		}
	}
	return n
}

// independent tells the manager nothing about rules that use each other: rules of a group are
// evaluated in their order.
type independent struct{}

// AnalyseRules implements rules.RuleDependencyController of the module.
func (independent) AnalyseRules([]promrules.Rule) {}

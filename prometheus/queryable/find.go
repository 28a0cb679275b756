package queryable

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A labelSet is a set of labels and the stored series that show it. There is more than one such
// series only where names that tsdbridge did not write decode to the same text.
type labelSet struct {
	labels labels.Labels
	ref    storage.Ref
	more   []storage.Ref
}

// checkEvery is how many series are decoded between two checks of the context: a matcher may be
// slow.
const checkEvery = 64

// decodeShare is how many series are worth a core of their own.
const decodeShare = 4096

// labelSetBytes is the memory of a found series without the texts of its labels: its place in lists
// and in the table of hashes.
const labelSetBytes = 160

// find returns the label sets that satisfy every matcher, each once. They must not be changed.
func (p *Store) find(ctx context.Context, s selection) ([]labelSet, error) {
	if s.span.empty() {
		return nil, nil
	}
	sets, err := p.sets(ctx, s.span, s.matchers)
	if err != nil {
		return nil, err
	}
	if s.sorted {
		if err := query.AccountOf(ctx).Take(int64(len(sets)) * setBytes); err != nil {
			return nil, httpapi.QueryError(ctx, "find series", err)
		}
		sets = slices.SortedFunc(slices.Values(sets), func(a, b labelSet) int { return labels.Compare(a.labels, b.labels) })
	}
	if s.limit > 0 && len(sets) > s.limit {
		return sets[:s.limit], nil
	}
	return sets, nil
}

// findSets finds the label sets that satisfy every matcher, in the order of the store.
func (p *Store) findSets(ctx context.Context, span timeSpan, filters []storage.Filter, matchers []*labels.Matcher) ([]labelSet, error) {
	found, err := p.store.Find(ctx, filters, span.start, span.end, p.limits.Series)
	if err != nil {
		return nil, httpapi.QueryError(ctx, "find series", err)
	}
	return p.setsOf(ctx, found, matchers)
}

// setsOf returns the label sets of found series that satisfy every matcher, in their order.
func (p *Store) setsOf(ctx context.Context, found []storage.Found, matchers []*labels.Matcher) ([]labelSet, error) {
	if err := query.AccountOf(ctx).Take(int64(len(found)) * labelSetBytes); err != nil {
		return nil, httpapi.QueryError(ctx, "find series", err)
	}
	decoded, err := p.decode(ctx, found, matchers)
	if err != nil {
		return nil, httpapi.QueryError(ctx, "find series", err)
	}
	if err := query.TurnOf(ctx).Yield(ctx); err != nil {
		return nil, httpapi.QueryError(ctx, "find series", err)
	}
	sets := newLabelSets(len(found))
	for i, ls := range decoded {
		if ls.matches {
			sets.addHashed(ls.hash, ls.labels, found[i].Ref)
		}
	}
	return sets.list, nil
}

// passes reports whether one of the series satisfies a condition; nil: all do.
func (s *labelSet) passes(may func(storage.Ref) bool) bool {
	return may == nil || may(s.ref) || slices.ContainsFunc(s.more, may)
}

// EachRef visits the stored series that satisfy every matcher, sorted by labels. mint and maxt are
// in milliseconds, both inclusive.
func (p *Store) EachRef(ctx context.Context, mint, maxt int64, matchers []*labels.Matcher, visit func(labels.Labels, storage.Ref)) error {
	sets, err := p.find(ctx, selection{span: timeSpan{mint, maxt}, matchers: matchers, sorted: true})
	if err != nil {
		return err
	}
	for _, set := range sets {
		visit(set.labels, set.ref)
		for _, ref := range set.more {
			visit(set.labels, ref)
		}
	}
	return nil
}

// decodedLabels are labels of a found series.
type decodedLabels struct {
	labels  labels.Labels
	hash    uint64
	matches bool
}

// decode decodes the labels of series on all cores.
func (p *Store) decode(ctx context.Context, found []storage.Found, matchers []*labels.Matcher) ([]decodedLabels, error) {
	out := make([]decodedLabels, len(found))
	account := query.AccountOf(ctx)
	some := func(turn *query.Turn, from, to int) error {
		for i := from; i < to; {
			end, texts := min(i+checkEvery, to), 0
			for ; i < end; i++ {
				ls := p.names.ToLabels(found[i].Series)
				texts += int(ls.ByteSize())
				out[i] = decodedLabels{ls, ls.Hash(), matchesAll(matchers, ls)}
			}
			if err := account.Take(int64(texts)); err != nil {
				return err
			}
			if err := turn.Yield(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, query.Shares(len(found), decodeShare))
	query.Split(len(found), len(errs), func(share, from, to int) {
		var turn *query.Turn
		if share == len(errs)-1 { // that of the caller
			turn = query.TurnOf(ctx)
		}
		errs[share] = some(turn, from, to)
	})
	return out, errors.Join(errs...)
}

// matchesAll reports whether labels satisfy every matcher. An absent label has the empty value, as
// everywhere in Prometheus.
func matchesAll(matchers []*labels.Matcher, ls labels.Labels) bool {
	for _, m := range matchers {
		if !m.Matches(ls.Get(m.Name)) {
			return false
		}
	}
	return true
}

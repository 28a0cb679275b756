package queryable

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Catalog knows when the series of a metric change, or those of all metrics.
type Catalog interface {
	Version(ctx context.Context, metric string) (storage.SeriesVersion, bool)
	Since(ctx context.Context, metric string, from, to storage.SeriesVersion) ([]storage.Found, bool, error)
	WholeVersion() (storage.SeriesVersion, bool)
	WholeSince(ctx context.Context, from, to storage.SeriesVersion) ([]storage.Found, bool, error)
	MayHavePoints(start, end int64) func(storage.Ref) bool
	AllMayHavePoints(ctx context.Context, metric string, start, end int64) bool
}

// selections keep what selectors found: all series with their labels, at any time. What was
// registered since is added when the selector is used again. Nothing is kept where other processes
// register series.
type selections struct {
	catalog Catalog
	found   *cache.Budgeted[string, *foundSets]
	asked   *cache.LRU[string, struct{}] // selectors that found nothing worth keeping the first time
	large   *cache.LRU[string, struct{}] // selectors that found more than may be kept
	most    int64                        // bytes
}

// foundSets is what a selector has found. It does not change.
type foundSets struct {
	version storage.SeriesVersion
	sets    []labelSet
}

// setBytes is the memory of a label set that is kept, without its labels' text.
const setBytes = 64

// rememberedSelectors is how many selectors are remembered that were asked once.
const rememberedSelectors = 1024

// Keep has the Store keep what selectors found, in at most so many bytes.
func (p *Store) Keep(c Catalog, b *query.Budget, maxBytes int64) {
	p.kept = &selections{
		catalog: c, most: maxBytes,
		asked: cache.NewLRU[string, struct{}](rememberedSelectors), large: cache.NewLRU[string, struct{}](rememberedSelectors),
		found: cache.NewBudgeted[string](cache.BudgetedOptions[*foundSets]{Budget: b, MaxBytes: maxBytes, Part: 1, Idle: time.Hour, Now: time.Now}),
	}
}

// DropCaches forgets what selectors found.
func (p *Store) DropCaches() {
	if p.kept != nil {
		p.kept.found.Clear()
	}
}

// metricOf returns the one metric that filters ask for.
func metricOf(filters []storage.Filter) (string, bool) {
	for _, f := range filters {
		if f.Keys == nil && len(f.Values) == 1 {
			return f.Values[0], true
		}
	}
	return "", false
}

// keyOf returns what tells matchers apart: their texts with the length of each, because a text may
// contain any character.
func keyOf(matchers []*labels.Matcher) string {
	var b []byte
	for _, m := range matchers {
		b = append(b, byte(m.Type))
		for _, text := range []string{m.Name, m.Value} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	return string(b)
}

// scope is the metric that a selector asks for. one is false if it may ask for several.
type scope struct {
	catalog Catalog
	metric  string
	one     bool
}

func (s scope) version(ctx context.Context) (storage.SeriesVersion, bool) {
	if s.one {
		return s.catalog.Version(ctx, s.metric)
	}
	return s.catalog.WholeVersion()
}

// mostNew is how many series may have been registered since a selector of several metrics was used,
// unless it found more: others are not looked at one by one.
const mostNew = 4096

// since returns the series of the scope that were registered since, false if they are not known or
// too many to be worth it.
func (s scope) since(ctx context.Context, k *foundSets, to storage.SeriesVersion) ([]storage.Found, bool, error) {
	switch {
	case s.one:
		return s.catalog.Since(ctx, s.metric, k.version, to)
	case to.Series-k.version.Series > max(mostNew, len(k.sets)):
		return nil, false, nil
	}
	return s.catalog.WholeSince(ctx, k.version, to)
}

// allMayHavePoints reports whether all series of one metric may have points in a time.
func (s scope) allMayHavePoints(ctx context.Context, span timeSpan) bool {
	return s.one && s.catalog.AllMayHavePoints(ctx, s.metric, span.start, span.end)
}

// sets returns the label sets that satisfy every matcher and may have points in a time, in the order
// of the store. They must not be changed.
func (p *Store) sets(ctx context.Context, span timeSpan, matchers []*labels.Matcher) ([]labelSet, error) {
	patterns, matchers, err := pathlabel.Split(matchers)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	if len(patterns) > 0 {
		return p.setsOfPaths(ctx, span, patterns, matchers) // not kept: trees change
	}
	filters := p.names.Filters(matchers)
	if p.kept == nil {
		return p.findSets(ctx, span, filters, matchers)
	}
	of := scope{catalog: p.kept.catalog}
	of.metric, of.one = metricOf(filters)
	version, ok := of.version(ctx)
	if !ok || p.limits.Series > 0 && version.Series > p.limits.Series {
		return p.findSets(ctx, span, filters, matchers)
	}
	key := keyOf(matchers)
	k, ok := p.kept.found.Get(key)
	if ok {
		var err error
		if k, err = p.extend(ctx, key, k, of, version, matchers); err != nil {
			return nil, err
		}
	}
	if k == nil {
		if !p.kept.worth(key, func() bool { return of.allMayHavePoints(ctx, span) }) {
			return p.findSets(ctx, span, filters, matchers)
		}
		sets, err := p.findSets(ctx, timeSpan{0, storage.MaxTime}, filters, matchers)
		if err != nil {
			return nil, err
		}
		k = p.keep(key, &foundSets{version, sets})
	}
	return k.within(ctx, p.kept.catalog.MayHavePoints(span.start, span.end))
}

// worth reports whether to find all series of a selector, at any time: if all are needed anyway, or
// when it is used again, unless they are too many to be kept.
func (s *selections) worth(key string, all func() bool) bool {
	if _, large := s.large.Get(key); large {
		return false
	}
	if _, again := s.asked.Get(key); again || all() {
		return true
	}
	s.asked.Put(key, struct{}{})
	return false
}

// keep keeps what a selector has found.
func (p *Store) keep(key string, k *foundSets) *foundSets {
	bytes := int64(len(key) + len(k.sets)*setBytes)
	for i := range k.sets {
		bytes += int64(k.sets[i].labels.ByteSize())
	}
	if p.kept.found.Put(key, k, bytes); bytes > p.kept.most {
		p.kept.large.Put(key, struct{}{})
	}
	return k
}

// extend adds the series that were registered since to what a selector has found. It returns nil if
// series were removed.
func (p *Store) extend(ctx context.Context, key string, k *foundSets, of scope, version storage.SeriesVersion, matchers []*labels.Matcher) (*foundSets, error) {
	if k.version == version {
		return k, nil
	}
	found, ok, err := of.since(ctx, k, version)
	if err != nil || !ok {
		return nil, httpapi.QueryError(ctx, "find series", err)
	}
	more, err := p.decode(ctx, found, matchers)
	if err != nil {
		return nil, httpapi.QueryError(ctx, "find series", err)
	}
	if !slices.ContainsFunc(more, func(ls decodedLabels) bool { return ls.matches }) {
		return p.keep(key, &foundSets{version, k.sets}), nil
	}
	sets := newLabelSets(len(k.sets) + len(found))
	for _, set := range k.sets {
		sets.addAll(set)
	}
	for i, ls := range more {
		if ls.matches {
			sets.addHashed(ls.hash, ls.labels, found[i].Ref)
		}
	}
	return p.keep(key, &foundSets{version, sets.list}), nil
}

// within returns the label sets of which a series may have points.
func (k *foundSets) within(ctx context.Context, may func(storage.Ref) bool) ([]labelSet, error) {
	n := 0
	for i := range k.sets {
		if k.sets[i].passes(may) {
			n++
		}
	}
	if n == len(k.sets) {
		return k.sets, nil
	}
	if err := query.AccountOf(ctx).Take(int64(n) * labelSetBytes); err != nil {
		return nil, httpapi.QueryError(ctx, "find series", err)
	}
	some := make([]labelSet, 0, n)
	for i := range k.sets {
		if k.sets[i].passes(may) {
			some = append(some, k.sets[i])
		}
	}
	return some, nil
}

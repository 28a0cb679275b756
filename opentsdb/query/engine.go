package query

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Catalog knows series and their UIDs; that of a store is one.
type Catalog interface {
	TSUIDOf(ref storage.Ref) []byte
	Refs(tsuids [][]byte) ([]storage.Ref, error)
	NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
}

// Dictionary looks up the UIDs of names; an unknown name has "".
type Dictionary interface {
	Lookup(ctx context.Context, kind schema.Kind, names []string) ([]string, error)
}

// Options are what an Engine needs. MaxSeries and MaxPoints bound what one sub query may read; 0: no
// limit.
type Options struct {
	Store     storage.Querier
	Catalog   Catalog
	Names     Dictionary
	Layout    schema.Layout
	MaxSeries int
	MaxPoints int
	Now       func() time.Time
}

// An Engine answers requests.
type Engine struct{ o Options }

// NewEngine returns an engine over a store.
func NewEngine(o Options) *Engine { return &Engine{o} }

// Answer computes the answer to a request that was checked.
func (e *Engine) Answer(ctx context.Context, r *Request) (*Answer, error) {
	a := &Answer{Request: r}
	for i := range r.Queries {
		groups, err := e.answer(ctx, r, i)
		if err != nil {
			return nil, err
		}
		a.Groups = append(a.Groups, groups...)
	}
	return a, nil
}

// answer answers one sub query.
func (e *Engine) answer(ctx context.Context, r *Request, index int) ([]Group, error) {
	q := &r.Queries[index]
	plan := q.plan(r)
	found, err := e.find(ctx, q, plan.Range.ScanStart, plan.Range.ScanEnd-1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	g, err := e.newGrouping(ctx, q, found)
	if err != nil {
		return nil, err
	}
	read := newReading(plan, g)
	if err := e.read(ctx, read); err != nil {
		return nil, err
	}
	groups, err := read.results(ctx)
	for i := range groups {
		groups[i].query = index
	}
	return groups, err
}

// member is a series of an answer.
type member struct {
	storage.Found
	tsuid []byte
}

// find returns the series that a sub query means, in the order of their TSUIDs.
func (e *Engine) find(ctx context.Context, q *SubQuery, start, end int64) ([]member, error) {
	var found []storage.Found
	var err error
	if len(q.TSUIDs) > 0 {
		found, err = e.findTSUIDs(ctx, q)
	} else {
		found, err = e.findMetric(ctx, q, start, end)
	}
	if err != nil {
		return nil, err
	}
	return e.ordered(found), nil
}

// ordered returns series in the order of their TSUIDs, each once.
func (e *Engine) ordered(found []storage.Found) []member {
	members := make([]member, 0, len(found))
	for _, f := range found {
		members = append(members, member{f, e.o.Catalog.TSUIDOf(f.Ref)})
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.tsuid, b.tsuid) })
	return slices.CompactFunc(members, func(a, b member) bool { return a.Ref == b.Ref })
}

func (e *Engine) findMetric(ctx context.Context, q *SubQuery, start, end int64) ([]storage.Found, error) {
	if err := e.known(ctx, schema.Metric, "metrics", q.Metric); err != nil {
		return nil, err
	}
	filters := []storage.Filter{{Values: []string{q.Metric}}}
	for _, f := range q.Filters {
		if err := e.resolve(ctx, f); err != nil {
			return nil, err
		}
		filters = append(filters, f.condition())
	}
	found, err := e.o.Store.Find(ctx, filters, start, end, e.o.MaxSeries)
	if err != nil || !q.ExplicitTags {
		return found, err
	}
	return slices.DeleteFunc(found, func(f storage.Found) bool { return !q.hasExactly(f.Tags) }), nil
}

// hasExactly reports whether the tags are those that filters name, and no others.
func (q *SubQuery) hasExactly(tags []storage.Tag) bool {
	named := map[string]bool{}
	for _, f := range q.Filters {
		named[f.TagKey] = true
	}
	return len(named) == len(tags)
}

// known returns an UnknownNameError for the first name that has no UID.
func (e *Engine) known(ctx context.Context, kind schema.Kind, what string, names ...string) error {
	uids, err := e.o.Names.Lookup(ctx, kind, names)
	if err != nil {
		return err
	}
	if i := slices.Index(uids, ""); i >= 0 {
		return UnknownNameError{what, names[i]}
	}
	return nil
}

// maxResolved is the number of alternatives up to which a TSD looks up the values of a literal_or
// filter; it is its tsd.query.filter.expansion_limit.
const maxResolved = 4096

// resolve looks up the names of a filter, the values first, as a TSD does.
func (e *Engine) resolve(ctx context.Context, f Filter) error {
	if f.Type == "literal_or" || f.Type == "not_literal_or" {
		if literals := f.literals(); len(literals) <= maxResolved {
			if err := e.known(ctx, schema.Tagv, "tagv", literals...); err != nil {
				return err
			}
		}
	}
	return e.known(ctx, schema.Tagk, "tagk", f.TagKey)
}

// condition returns the filter in the store's form.
func (f Filter) condition() storage.Filter {
	c := storage.Filter{Keys: []string{f.TagKey}}
	if f.Type == "literal_or" {
		c.Values = f.literals()
	} else {
		c.Match = f.matcher()
	}
	return c
}

func (e *Engine) findTSUIDs(ctx context.Context, q *SubQuery) ([]storage.Found, error) {
	width := e.o.Layout.MetricWidth
	var tsuids [][]byte
	for _, text := range q.TSUIDs {
		tsuid, err := parseTSUID(text)
		if err != nil {
			return nil, refused(err)
		}
		if len(tsuid) < width || (len(tsuid)-width)%e.o.Layout.PairWidth() != 0 {
			return nil, RequestError{fmt.Sprintf("TSUID %s has a wrong length", text)}
		}
		if len(tsuids) > 0 && !bytes.Equal(tsuid[:width], tsuids[0][:width]) {
			return nil, SyntaxError{fmt.Errorf("One or more TSUIDs did not share the same metric [%X] [%X]", tsuids[0][:width], tsuid[:width])}
		}
		tsuids = append(tsuids, tsuid)
	}
	named, err := e.o.Catalog.NameSeries(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	found := make([]storage.Found, 0, len(named))
	for _, s := range named {
		refs, err := e.o.Catalog.Refs([][]byte{s.TSUID})
		if err != nil {
			return nil, err
		}
		found = append(found, storage.Found{Ref: refs[0], Series: s.Series})
	}
	return found, nil
}

// parseTSUID reads hexadecimal digits.
func parseTSUID(text string) ([]byte, error) {
	var b []byte
	if _, err := fmt.Sscanf(strings.ToLower(text), "%x", &b); err != nil || len(text) == 0 || len(text)%2 != 0 || 2*len(b) != len(text) {
		return nil, fmt.Errorf("For input string: %q", text)
	}
	return b, nil
}

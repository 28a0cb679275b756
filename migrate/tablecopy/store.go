package tablecopy

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A Match selects series.
type Match interface {
	// Selects reports whether a series is one of these.
	Selects(s storage.Series) bool
	// Of returns the conditions by which a store finds those of a metric; ok is false if there are none.
	Of(metric string) (conditions []storage.Filter, ok bool)
}

// Trees are the definitions of the trees of a store; a forest.Editor is one.
type Trees interface {
	All(ctx context.Context) ([]tree.Definition, error)
	Create(ctx context.Context, t schema.Tree) (id uint16, err error)
	Edit(ctx context.Context, id uint16, change func(*schema.Tree)) error
	EditRules(ctx context.Context, id uint16, edits []forest.RuleEdit) error
}

// A Store is a store with what is copied of it or into it.
type Store struct {
	Store  *store.Store
	Trees  Trees
	Budget *query.Budget
	// Shared means that other processes write to the tables.
	Shared bool
}

// A Query is what is copied: of the series that pass one of Matches (none: of all series), the points from Start to End
// (milliseconds, inclusive). With Matches, names and global annotations are not copied.
type Query struct {
	Matches    []Match
	Start, End int64
}

// A Reader is a Source of a store. Its memory is bounded, however much is copied.
type Reader struct {
	s Store
	q Query

	// A window of a range is read at once. It has about so many points, and at least an hour; one of more than mostPoints is
	// cut.
	windowPoints int64
	mostPoints   int
}

// NewReader returns the Source of a query.
func NewReader(s Store, q Query) *Reader {
	q.Start, q.End = max(q.Start, 0), min(q.End, storage.MaxTime)
	return &Reader{s: s, q: q, windowPoints: 1 << 20, mostPoints: 4 << 20}
}

// all reports whether all series are copied.
func (r *Reader) all() bool { return len(r.q.Matches) == 0 }

// selects reports whether a series is copied.
func (r *Reader) selects(s storage.Series) bool {
	for _, m := range r.q.Matches {
		if m.Selects(s) {
			return true
		}
	}
	return r.all()
}

// Parts implements Source.
func (r *Reader) Parts(context.Context) ([]string, error) {
	parts := []string{PartTrees}
	if r.all() {
		parts = append(parts, PartNames)
	}
	parts = append(parts, PartSeries, PartPoints)
	if r.s.Store.Archives() != nil {
		parts = append(parts, PartArchives)
	}
	if rollups := r.s.Store.Rollups(); rollups != nil {
		for _, p := range rollups.Config().Parts() {
			parts = append(parts, rollupPart(p))
		}
	}
	if r.all() {
		parts = append(parts, PartNotes)
	}
	return parts, nil
}

func rollupPart(p rollup.Part) string { return PartRollups + " " + p.String() }

// rollups returns the rolled up values of a part.
func (r *Reader) rollups(part string) (p rollup.Part, err error) {
	if rollups := r.s.Store.Rollups(); rollups != nil {
		for _, p := range rollups.Config().Parts() {
			if rollupPart(p) == part {
				return p, nil
			}
		}
	}
	return p, fmt.Errorf("%w: there are no rolled up values %q: has --storage.rollups changed?", storage.ErrInvalid, part)
}

// Ranges implements Source.
func (r *Reader) Ranges(ctx context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	switch {
	case after.Part == PartPoints:
		return r.pointRanges(ctx, after)
	case strings.HasPrefix(after.Part, PartRollups+" "):
		return r.rolledRanges(ctx, after)
	case after != pipeline.Range{Part: after.Part}:
		return nil, nil // it was the only one
	case after.Part == PartNotes:
		return []pipeline.Range{{Part: PartNotes, From: r.q.Start, To: r.q.End}}, nil
	}
	return []pipeline.Range{{Part: after.Part, To: math.MaxInt64}}, nil
}

// Read implements Source.
func (r *Reader) Read(ctx context.Context, about pipeline.Range, give func(*Block) error) error {
	switch about.Part {
	case PartTrees:
		return r.readTrees(ctx, give)
	case PartNames:
		return r.readNames(ctx, give)
	case PartSeries:
		return r.readSeries(ctx, about, give)
	case PartPoints:
		return r.readPoints(ctx, about, give)
	case PartArchives:
		return r.readArchives(ctx, about, give)
	case PartNotes:
		return r.readNotes(ctx, about, give)
	}
	return r.readRolled(ctx, about, give)
}

// metrics returns the names of those that are copied, in their order: those that have points between two times, and perhaps
// others.
func (r *Reader) metrics(ctx context.Context, start, end int64) (names []string, err error) {
	account := r.s.Budget.Open()
	defer account.Close()
	ctx = query.WithAccount(ctx, account)
	if r.all() { // what has no name is among the losses of the names and of the series
		return r.s.Store.Catalog().NamedMetrics(ctx, start, end)
	}
	if names, err = r.s.Store.Metrics(ctx, start, end); err != nil {
		return nil, err
	}
	kept := names[:0]
	for _, name := range names {
		for _, m := range r.q.Matches {
			if _, ok := m.Of(name); ok {
				kept = append(kept, name)
				break
			}
		}
	}
	return kept, nil
}

// nextRange returns what is left of a range from a time on; nil: nothing.
func nextRange(r pipeline.Range, from int64) *pipeline.Range {
	if r.From = from; r.From > r.To {
		return nil
	}
	return &r
}

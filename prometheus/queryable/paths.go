package queryable

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Paths finds series by patterns of Graphite, as targets of /render do.
type Paths interface {
	// PathRefs returns the series that a pattern names, each once. Times are in milliseconds, both
	// inclusive; series without points in them may be among the answer.
	PathRefs(ctx context.Context, pattern string, start, end int64) ([]storage.Ref, error)
}

// PathCatalog names series.
type PathCatalog interface {
	NameRefs(ctx context.Context, refs []storage.Ref) ([]storage.Found, error)
	MayHavePoints(start, end int64) func(storage.Ref) bool
}

// pathFinder finds series by paths.
type pathFinder struct {
	paths   Paths
	catalog PathCatalog
}

// UsePaths has selectors ask for paths by pathlabel.Name.
func (p *Store) UsePaths(paths Paths, c PathCatalog) { p.paths = &pathFinder{paths, c} }

// setsOfPaths finds the label sets that each of some patterns names and that satisfy every other
// matcher, in the order of the store.
func (p *Store) setsOfPaths(ctx context.Context, span timeSpan, patterns []string, matchers []*labels.Matcher) ([]labelSet, error) {
	if p.paths == nil {
		return nil, fmt.Errorf("%w: %s: there are no paths here", storage.ErrInvalid, pathlabel.Name)
	}
	refs, err := p.refsOfPaths(ctx, span, patterns)
	if err != nil {
		return nil, httpapi.QueryError(ctx, "find paths", err)
	}
	if p.limits.Series > 0 && len(refs) > p.limits.Series {
		return nil, httpapi.QueryError(ctx, "find paths", fmt.Errorf("%w: the query selects %d series, the limit is %d", storage.ErrLimit, len(refs), p.limits.Series))
	}
	found, err := p.paths.catalog.NameRefs(ctx, refs)
	if err != nil {
		return nil, httpapi.QueryError(ctx, "find paths", err)
	}
	return p.setsOf(ctx, found, matchers)
}

// refsOfPaths returns the series that all patterns name and that may have points in a time.
func (p *Store) refsOfPaths(ctx context.Context, span timeSpan, patterns []string) ([]storage.Ref, error) {
	may := p.paths.catalog.MayHavePoints(span.start, span.end)
	var all []storage.Ref
	for i, pattern := range patterns {
		refs, err := p.paths.paths.PathRefs(ctx, pattern, span.start, span.end)
		if err != nil {
			return nil, err
		}
		if err := query.AccountOf(ctx).Take(int64(len(refs)) * refBytes); err != nil {
			return nil, err
		}
		slices.Sort(refs)
		if i > 0 {
			refs = slices.DeleteFunc(refs, func(ref storage.Ref) bool {
				_, among := slices.BinarySearch(all, ref)
				return !among
			})
		}
		all = refs
	}
	if may == nil {
		return all, nil
	}
	return slices.DeleteFunc(all, func(ref storage.Ref) bool { return !may(ref) }), nil
}

// refBytes is the memory of a series in a list.
const refBytes = 8

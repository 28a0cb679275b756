package queryable

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
)

var _ promstorage.Searcher = (*querier)(nil)

// SearchLabelNames finds names of labels, of all series or of those that satisfy the matchers.
func (q *querier) SearchLabelNames(ctx context.Context, hints *promstorage.SearchHints, matchers ...*labels.Matcher) promstorage.SearchResultSet {
	names, warnings, err := q.LabelNames(ctx, nil, matchers...)
	if err != nil {
		return promstorage.ErrSearchResultSet(err)
	}
	return promstorage.NewSearchResultSetFromSlice(promstorage.ApplySearchHints(names, hints), warnings)
}

// SearchLabelValues finds values of a label, of all series or of those that satisfy the matchers.
func (q *querier) SearchLabelValues(ctx context.Context, name string, hints *promstorage.SearchHints, matchers ...*labels.Matcher) promstorage.SearchResultSet {
	values, warnings, err := q.LabelValues(ctx, name, nil, matchers...)
	if err != nil {
		return promstorage.ErrSearchResultSet(err)
	}
	return promstorage.NewSearchResultSetFromSlice(promstorage.ApplySearchHints(values, hints), warnings)
}

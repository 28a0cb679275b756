package queryable

import (
	"context"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

var _ promstorage.Searcher = (*querier)(nil)

// SearchLabelNames finds names of labels, of all series or of those that satisfy the matchers.
func (q *querier) SearchLabelNames(ctx context.Context, hints *promstorage.SearchHints, matchers ...*labels.Matcher) promstorage.SearchResultSet {
	names, warnings, err := q.LabelNames(ctx, nil, matchers...)
	if err != nil {
		return promstorage.ErrSearchResultSet(err)
	}
	return search(ctx, names, hints, warnings)
}

// SearchLabelValues finds values of a label, of all series or of those that satisfy the matchers.
func (q *querier) SearchLabelValues(ctx context.Context, name string, hints *promstorage.SearchHints, matchers ...*labels.Matcher) promstorage.SearchResultSet {
	values, warnings, err := q.LabelValues(ctx, name, nil, matchers...)
	if err != nil {
		return promstorage.ErrSearchResultSet(err)
	}
	return search(ctx, values, hints, warnings)
}

// search returns the texts that a search finds.
func search(ctx context.Context, texts []string, hints *promstorage.SearchHints, warnings annotations.Annotations) promstorage.SearchResultSet {
	if hints != nil && hints.Filter != nil {
		bounded := *hints
		bounded.Filter = boundedFilter{hints.Filter, ctx.Err}
		hints = &bounded
	}
	found := promstorage.ApplySearchHints(texts, hints)
	if err := ctx.Err(); err != nil {
		return promstorage.ErrSearchResultSet(err)
	}
	return promstorage.NewSearchResultSetFromSlice(found, warnings)
}

// searchedBytes is how much of a text is searched: the module's filters take time by the square of its
// length.
const searchedBytes = 4 << 10

// A boundedFilter ends with the request.
type boundedFilter struct {
	promstorage.Filter
	ended func() error
}

// Accept implements storage.Filter of the module.
func (f boundedFilter) Accept(text string) (accepted bool, score float64) {
	if f.ended() != nil {
		return false, 0
	}
	if len(text) > searchedBytes {
		text = text[:runesWithin(text, searchedBytes)]
	}
	return f.Filter.Accept(text)
}

// runesWithin returns how many bytes the characters have that are in the first n bytes of a longer text.
func runesWithin(text string, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

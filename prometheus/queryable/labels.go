package queryable

import (
	"context"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/translate"
)

// LabelNames lists the names of labels, sorted, of all series or of those that satisfy the
// matchers.
func (q *querier) LabelNames(ctx context.Context, hints *promstorage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	names := textSet{}
	listed, err := false, error(nil)
	if len(matchers) == 0 {
		listed, err = q.listNames(ctx, names)
	}
	if err == nil && !listed {
		err = q.eachLabels(ctx, matchers, func(ls labels.Labels) {
			ls.Range(func(l labels.Label) { names.add(l.Name) })
		})
	}
	return names.list(hints), nil, err
}

// LabelValues lists the values of a label, sorted, of all series or of those that satisfy the
// matchers.
func (q *querier) LabelValues(ctx context.Context, name string, hints *promstorage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	values := textSet{}
	listed, err := name == pathlabel.Name, error(nil) // only selectors have it
	if len(matchers) == 0 && !listed {
		listed, err = q.listValues(ctx, name, values)
	}
	if err == nil && !listed {
		present := labels.MustNewMatcher(labels.MatchNotEqual, name, "")
		err = q.eachLabels(ctx, append(slices.Clip(matchers), present), func(ls labels.Labels) { values.add(ls.Get(name)) })
	}
	return values.list(hints), nil, err
}

// listNames adds all label names from the lists of stored names alone. It reports false if the
// lists are not sufficient.
func (q *querier) listNames(ctx context.Context, names textSet) (bool, error) {
	keys, ok, err := q.tagKeys(ctx)
	if err != nil || !ok {
		return false, err
	}
	for _, key := range keys {
		if name, ok := q.names.Label(key); ok {
			names.add(name)
		}
	}
	metrics, err := q.store.Metrics(ctx, q.span.start, q.span.end)
	if slices.ContainsFunc(metrics, func(m string) bool { return q.names.FromMetric(m) != "" }) {
		names.add(model.MetricNameLabel)
	}
	return true, httpapi.QueryError(ctx, "list names", err)
}

// listValues adds all values of a label from the lists of stored names alone. It reports false if
// the lists are not sufficient.
func (q *querier) listValues(ctx context.Context, name string, values textSet) (bool, error) {
	keys, ok, err := q.tagKeys(ctx)
	if err != nil || !ok {
		return false, err
	}
	if name == model.MetricNameLabel {
		metrics, err := q.store.Metrics(ctx, q.span.start, q.span.end)
		for _, m := range metrics {
			values.add(q.names.FromMetric(m))
		}
		return true, httpapi.QueryError(ctx, "list names", err)
	}
	if !q.names.Uniform() {
		return false, nil
	}
	for _, key := range keys {
		if shown, ok := q.names.Label(key); !ok || shown != name {
			continue
		}
		stored, err := q.store.TagValues(ctx, key, q.span.start, q.span.end)
		if err != nil {
			return false, httpapi.QueryError(ctx, "list names", err)
		}
		for _, v := range stored {
			values.add(q.names.LabelValue(v))
		}
	}
	return true, nil
}

// tagKeys lists the tag keys. ok is false if some series has labels that are not in any tag key.
func (q *querier) tagKeys(ctx context.Context) (keys []string, ok bool, err error) {
	keys, err = q.store.TagKeys(ctx, q.span.start, q.span.end)
	return keys, !slices.Contains(keys, translate.PackedKey), httpapi.QueryError(ctx, "list names", err)
}

// eachLabels visits the labels of every series that satisfies the matchers.
func (q *querier) eachLabels(ctx context.Context, matchers []*labels.Matcher, visit func(labels.Labels)) error {
	account := query.AccountOf(ctx)
	before := account.Held()
	sets, err := q.find(ctx, selection{span: q.span, matchers: matchers})
	defer func() { account.Give(account.Held() - before) }() // only texts are kept, which are few
	for _, set := range sets {
		visit(set.labels)
	}
	return err
}

// textSet is a set of non-empty texts.
type textSet map[string]struct{}

func (s textSet) add(text string) {
	if text != "" {
		s[text] = struct{}{}
	}
}

// list sorts the set, and cuts it to the limit of the hints.
func (s textSet) list(hints *promstorage.LabelHints) []string {
	out := make([]string, 0, len(s))
	for text := range s {
		out = append(out, text)
	}
	slices.Sort(out)
	if hints != nil && hints.Limit > 0 && len(out) > hints.Limit {
		out = out[:hints.Limit]
	}
	return out
}

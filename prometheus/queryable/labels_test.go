package queryable

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// TestLabelLists compares the lists made from names alone with those made from every series.
func TestLabelLists(t *testing.T) {
	long := strings.Repeat("x", 40_000)
	for name, series := range map[string][]labels.Labels{
		"plain":  {labels.FromStrings("__name__", "a", "b", "1"), labels.FromStrings("__name__", "c:d", "e.f", "ü", "b", "2")},
		"none":   {labels.EmptyLabels()},
		"packed": {labels.FromStrings("__name__", "a", "b", long, "c", "1"), labels.FromStrings("__name__", long)},
		"empty":  nil,
	} {
		for mode, rules := range map[string][]translate.Rule{
			"literal": nil, "compat": {{Pattern: "a", Mode: translate.Compat}},
		} {
			names, err := translate.New(rules...)
			if err != nil {
				t.Fatal(err)
			}
			p := newPromStorageOf(promtest.OpenStore(t, kv.NewMem(promtest.Tables()...)), names, Limits{})
			for _, ls := range series {
				p.Write(t, ls, 1000)
			}
			q := p.querier(0, 2000)
			all := labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".*")
			got, _, err := q.LabelNames(t.Context(), nil)
			want, _, wantErr := q.LabelNames(t.Context(), nil, all)
			if diff := cmp.Diff(want, got); err != nil || wantErr != nil || diff != "" {
				t.Errorf("%s %s: names: %v %v -matched +listed\n%s", name, mode, err, wantErr, diff)
			}
			for _, label := range append(got, "nothing") {
				got, _, err := q.LabelValues(t.Context(), label, nil)
				want, _, wantErr := q.LabelValues(t.Context(), label, nil, all)
				if diff := cmp.Diff(want, got); err != nil || wantErr != nil || diff != "" || (len(got) == 0) != (label == "nothing") {
					t.Errorf("%s %s: values of %.10s: %v %v -matched +listed\n%.300s", name, mode, label, err, wantErr, diff)
				}
				one, _, err := q.LabelValues(t.Context(), label, &promstorage.LabelHints{Limit: 1})
				if err != nil || len(one) > 1 || len(got) > 0 && one[0] != got[0] {
					t.Errorf("%s %s: one value of %.10s: %v", name, mode, label, err)
				}
			}
		}
	}
}

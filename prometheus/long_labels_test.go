package prometheus

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// TestLongLabels: the longest labels that remote write takes are stored and found.
func TestLongLabels(t *testing.T) {
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, engine := range promtest.Engines() {
		t.Run(name, func(t *testing.T) {
			store := promtest.OpenStore(t, engine(t))
			ls := labels.FromStrings("__name__", "up", "long", strings.Repeat("ü.x", 400_000))
			refs, errs := store.Resolve(t.Context(), []storage.Series{names.FromLabels(ls)})
			if errs != nil {
				t.Fatal(errs)
			}
			var b storage.Batch
			b.Add(refs[0], 1000, 1)
			if err := store.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			found, err := store.Find(t.Context(), nil, 0, 2000, 0)
			if err != nil || len(found) != 1 || !labels.Equal(names.ToLabels(found[0].Series), ls) {
				t.Fatalf("%d series, %v", len(found), err)
			}
		})
	}
}

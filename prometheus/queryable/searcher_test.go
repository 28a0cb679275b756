package queryable

import (
	"context"
	"errors"
	"strings"
	"testing"

	promstorage "github.com/prometheus/prometheus/storage"
)

// A filterFunc is a filter.
type filterFunc func(text string) bool

func (f filterFunc) Accept(text string) (bool, float64) { return f(text), 1 }

// TestSearchBounds: of a long text the first bytes are searched, and a request that has ended searches no
// further.
func TestSearchBounds(t *testing.T) {
	long := strings.Repeat("x", searchedBytes-1) + "ü" + strings.Repeat("x", 1<<20)
	for _, order := range []promstorage.Ordering{promstorage.OrderByValueAsc, promstorage.OrderByValueDesc, promstorage.OrderByScoreDesc} {
		ctx, cancel := context.WithCancel(t.Context())
		var asked []string
		hints := &promstorage.SearchHints{Limit: 10, OrderBy: order, Filter: filterFunc(func(text string) bool { asked = append(asked, text); return true })}
		set := search(ctx, []string{"a", long}, hints, nil)
		n := 0
		for set.Next() {
			n++
		}
		if n != 2 || set.Err() != nil {
			t.Errorf("order %v: %d are found, %v", order, n, set.Err())
		}
		for _, text := range asked {
			if text != "a" && text != long[:searchedBytes-1] {
				t.Errorf("%d bytes are searched", len(text))
			}
		}
		asked = nil
		hints.Filter = filterFunc(func(text string) bool { asked = append(asked, text); cancel(); return true })
		if set = search(ctx, []string{"a", "b", "c"}, hints, nil); set.Next() || !errors.Is(set.Err(), context.Canceled) || len(asked) != 1 {
			t.Errorf("order %v: after the end %q are searched, %v", order, asked, set.Err())
		}
	}
}

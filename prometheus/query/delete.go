package query

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
)

// deletePath is Prometheus' own.
const deletePath = "/admin/tsdb/delete_series"

// Deleter deletes points of series, or whole series. A store.Store is one.
type Deleter interface {
	Delete(ctx context.Context, d storage.Deletion) (storage.Deleted, error)
}

// deletions deletes what matchers select. It is what the module's API wants of a TSDB for that.
type deletions struct {
	noTSDB

	shown   *queryable.Store
	deleter Deleter
	logger  *slog.Logger
}

// refBytes is the memory of a series in the list of those to delete.
const refBytes = 8

// Delete deletes the points of all series that satisfy the matchers from mint to maxt, in
// milliseconds, both inclusive: samples, histograms, exemplars, rolled up values and annotations.
// Where that is all of time, the series go as well.
func (d *deletions) Delete(ctx context.Context, mint, maxt int64, matchers ...*labels.Matcher) error {
	deletion := storage.Deletion{Start: max(mint, 0), End: min(maxt, storage.MaxTime), Whole: mint <= 0 && maxt >= storage.MaxTime}
	if deletion.Start > deletion.End {
		return nil
	}
	selectors := [][]*labels.Matcher{matchers}
	if all, ok := ctx.Value(selectorsKey{}).(*requested); ok {
		if selectors = all.take(); selectors == nil {
			return nil // the first call has deleted what they select
		}
	}
	for _, matchers := range selectors {
		if err := d.add(ctx, &deletion, mint, maxt, matchers); err != nil {
			return err
		}
	}
	if len(deletion.Refs) == 0 {
		return nil
	}
	// A deletion that has begun is finished, whatever becomes of the request.
	if _, err := d.deleter.Delete(context.WithoutCancel(ctx), deletion); err != nil {
		return httpapi.StoreError{Err: fmt.Errorf("delete series: %w", err)}
	}
	d.logger.InfoContext(ctx, "series deleted", "matchers", selector(matchers), "selectors", len(selectors), "series", len(deletion.Refs), "start", deletion.Start, "end", deletion.End, "whole", deletion.Whole)
	return nil
}

// add adds the series of a selector to a deletion.
func (d *deletions) add(ctx context.Context, deletion *storage.Deletion, mint, maxt int64, matchers []*labels.Matcher) error {
	before := len(deletion.Refs)
	err := d.shown.EachRef(ctx, mint, maxt, matchers, func(_ labels.Labels, ref storage.Ref) {
		deletion.Refs = append(deletion.Refs, ref)
	})
	if err != nil {
		return err
	}
	slices.Sort(deletion.Refs)
	deletion.Refs = slices.Compact(deletion.Refs)
	if err := query.AccountOf(ctx).Take(int64(len(deletion.Refs)-before) * refBytes); err != nil {
		return httpapi.QueryError(ctx, "delete series", err)
	}
	return nil
}

// selectorsKey is the key of the selectors of a request in its context.
type selectorsKey struct{}

// requested are the selectors of a request, which are deleted as one: all of them begin, or none does.
type requested struct{ selectors [][]*labels.Matcher }

// take returns the selectors the first time, and nil from then on.
func (r *requested) take() [][]*labels.Matcher {
	taken := r.selectors
	r.selectors = nil
	return taken
}

// maxSelector is how much of a selector is logged, in bytes.
const maxSelector = 1000

// selector prints matchers as PromQL does.
func selector(matchers []*labels.Matcher) string {
	texts := make([]string, len(matchers))
	for i, m := range matchers {
		texts[i] = m.String()
	}
	return httpapi.Cut("{"+strings.Join(texts, ",")+"}", maxSelector)
}

// whole refuses a request of which a part cannot be carried out before another part is, and has all selectors deleted at
// once. The module takes one after the other, and seconds that overflow for other times: nanoseconds may mean all of time.
func whole(next http.Handler, p parser.Parser) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"start", "end"} {
			text := r.FormValue(name)
			if s, err := strconv.ParseFloat(text, 64); text != "" && err == nil && !(math.Abs(s) <= math.MaxInt64/1000) { // also of NaN
				httpapi.APIError(w, badData(fmt.Errorf("invalid parameter %q: invalid time value for '%s': cannot parse %q to a valid timestamp", name, name, text)))
				return
			}
		}
		all := &requested{}
		for _, text := range r.Form["match[]"] {
			matchers, err := p.ParseMetricSelector(text)
			if err != nil {
				httpapi.APIError(w, badData(fmt.Errorf("invalid parameter \"match[]\": %w", err)))
				return
			}
			all.selectors = append(all.selectors, matchers)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), selectorsKey{}, all)))
	})
}

// sameOrigin refuses requests that a page of another origin makes a browser send.
func sameOrigin(next http.Handler) http.Handler { return http.NewCrossOriginProtection().Handler(next) }

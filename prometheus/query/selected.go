package query

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
)

// selectedPath counts what selectors name.
const selectedPath = Prefix + "/status/selected"

// selectedHandler serves GET /api/v1/status/selected: how many series delete_series would delete from with
// the same match[], start and end, and some of them. The default is all of time, as there.
type selectedHandler struct {
	queryable *queryable.Store
}

// The default and the largest number of examples.
const (
	defaultExamples = 10
	maxExamples     = 1000
)

// selectedAnswer is the data of the answer.
type selectedAnswer struct {
	Series   int             `json:"series"`
	Metrics  int             `json:"metrics"`  // among all of these series
	Examples []labels.Labels `json:"examples"` // the first ones in the order of labels
}

// ServeHTTP answers with the count.
func (h *selectedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	selections, limit, err := h.selections(r)
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	answer, err := h.count(r.Context(), selections, limit)
	if err != nil {
		status, _ := httpapi.QueryStatus(err)
		httpapi.JSON(w, status, httpapi.Frame{Status: "error", ErrorType: "execution", Error: err.Error()})
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: answer})
}

func (h *selectedHandler) selections(r *http.Request) ([]planSelection, int, error) {
	if err := r.ParseForm(); err != nil {
		return nil, 0, err
	}
	limit := defaultExamples
	if text := r.Form.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 || limit > maxExamples {
			return nil, 0, fmt.Errorf("limit must be a number from 0 to %d", maxExamples)
		}
	}
	selections, err := formSelections(r, v1.MinTime, v1.MaxTime)
	return selections, limit, err
}

// count visits the series. A series that several selectors name is counted once.
func (h *selectedHandler) count(ctx context.Context, selections []planSelection, limit int) (selectedAnswer, error) {
	answer, metrics := selectedAnswer{Examples: []labels.Labels{}}, map[string]struct{}{}
	seen := map[storage.Ref]struct{}{} // with one selector nothing comes twice
	for _, s := range selections {
		err := h.queryable.EachRef(ctx, s.start, s.end, s.matchers, func(ls labels.Labels, ref storage.Ref) {
			if len(selections) > 1 {
				if _, again := seen[ref]; again {
					return
				}
				seen[ref] = struct{}{}
			}
			answer.Series++
			metrics[ls.Get(model.MetricNameLabel)] = struct{}{}
			if len(answer.Examples) < limit {
				answer.Examples = append(answer.Examples, ls.Copy())
			}
		})
		if err != nil {
			return answer, err
		}
	}
	answer.Metrics = len(metrics)
	return answer, nil
}

package adapter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/storage"
)

// planner says how a query would be read.
type planner interface {
	Plan(q storage.Query) ([]storage.Plan, error)
}

// planHandler serves GET /api/v1/status/plan: how the store would read the series of selectors. match[], start and end are those of
// /api/v1/series; without start and end it is the last hour.
type planHandler struct {
	queryable *promQueryable
	planner   planner
	now       func() time.Time
}

// planAnswer is the data of the answer.
type planAnswer struct {
	Start  time.Time   `json:"start"`
	End    time.Time   `json:"end"`
	Series int         `json:"series"`
	Groups []planGroup `json:"groups"`
}

// planGroup is one plan.
type planGroup struct {
	Kind         string             `json:"kind"`
	Metric       string             `json:"metric"`
	UID          string             `json:"uid"`
	Series       int                `json:"series"`
	Reads        int                `json:"reads"`
	Rows         int64              `json:"rows"`
	RowsOfMetric int64              `json:"rowsOfMetric"`
	CostMillis   map[string]float64 `json:"costMillis"`
}

// ServeHTTP answers with the plans.
func (h *planHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	selections, err := h.selections(r)
	if err != nil {
		replyJSON(w, http.StatusBadRequest, apiResponse{Status: "error", ErrorType: "bad_data", Error: err.Error()})
		return
	}
	answer, err := h.plan(r.Context(), selections)
	if err != nil {
		status, _ := queryStatus(err)
		replyJSON(w, status, apiResponse{Status: "error", ErrorType: "execution", Error: err.Error()})
		return
	}
	replyJSON(w, http.StatusOK, apiResponse{Status: "success", Data: answer})
}

func (h *planHandler) selections(r *http.Request) ([]selection, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	end, err := formTime(r, "end", h.now())
	if err != nil {
		return nil, err
	}
	start, err := formTime(r, "start", end.Add(-time.Hour))
	if err != nil {
		return nil, err
	}
	if len(r.Form["match[]"]) == 0 {
		return nil, errors.New("no match[] parameter provided")
	}
	var all []selection
	for _, text := range r.Form["match[]"] {
		matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
		if err != nil {
			return nil, fmt.Errorf("invalid parameter \"match[]\": %w", err)
		}
		all = append(all, selection{span: timeSpan{start.UnixMilli(), end.UnixMilli()}, matchers: matchers, sorted: true})
	}
	return all, nil
}

// formTime reads a time as Prometheus does: seconds since 1970 or RFC 3339.
func formTime(r *http.Request, name string, absent time.Time) (time.Time, error) {
	text := r.Form.Get(name)
	if text == "" {
		return absent, nil
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(s) < 1<<40 {
		return time.UnixMilli(int64(math.Round(s * 1000))).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fmt.Errorf("invalid parameter %q: cannot parse %q to a valid timestamp", name, text)
	}
	return t, nil
}

func (h *planHandler) plan(ctx context.Context, selections []selection) (planAnswer, error) {
	span := selections[0].span
	answer := planAnswer{Start: time.UnixMilli(span.start).UTC(), End: time.UnixMilli(span.end).UTC(), Groups: []planGroup{}}
	for _, s := range selections {
		found, err := h.queryable.find(ctx, s)
		if err != nil {
			return answer, err
		}
		names, q := map[storage.Ref]string{}, storage.Query{Start: span.start, End: span.end, Samples: true}
		for _, set := range found {
			for _, ref := range append([]storage.Ref{set.ref}, set.more...) {
				names[ref] = set.labels.Get(model.MetricNameLabel)
				q.Refs = append(q.Refs, ref)
			}
		}
		plans, err := h.planner.Plan(q)
		if err != nil {
			return answer, queryError(ctx, "plan", err)
		}
		answer.Series += len(q.Refs)
		for _, p := range plans {
			answer.Groups = append(answer.Groups, planGroup{
				Kind: p.Kind, Metric: names[p.First], UID: fmt.Sprintf("%X", p.Metric), Series: p.Series, Reads: p.Reads,
				Rows: p.Rows, RowsOfMetric: p.RowsOfMetric, CostMillis: p.Costs,
			})
		}
	}
	return answer, nil
}

package query

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
)

// planner returns how a query would be read.
type planner interface {
	Plan(q storage.Query) ([]storage.Plan, error)
}

// planHandler serves GET /api/v1/status/plan: how the store would read the series of selectors. The
// parameters match[], start and end are those of /api/v1/series. The default is the last hour.
type planHandler struct {
	queryable *queryable.Store
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
	RowsExpected int64              `json:"rowsExpected"`
	CostMillis   map[string]float64 `json:"costMillis"`
	Last         *planOutcome       `json:"last,omitempty"`
}

// planOutcome is how the last query went that read the metric in this way.
type planOutcome struct {
	RowsExpected int64     `json:"rowsExpected"`
	RowsRead     int64     `json:"rowsRead"`
	Millis       float64   `json:"millis"`
	At           time.Time `json:"at"`
}

func lastOutcome(o *storage.PlanOutcome) *planOutcome {
	if o == nil {
		return nil
	}
	return &planOutcome{o.RowsExpected, o.RowsRead, float64(o.Took.Microseconds()) / 1000, o.At.UTC()}
}

// planSelection is one selector of a request, with the times in milliseconds.
type planSelection struct {
	start, end int64
	matchers   []*labels.Matcher
}

// ServeHTTP answers with the plans.
func (h *planHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	selections, err := h.selections(r)
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	answer, err := h.plan(r.Context(), selections)
	if err != nil {
		status, _ := httpapi.QueryStatus(err)
		httpapi.JSON(w, status, httpapi.Frame{Status: "error", ErrorType: "execution", Error: err.Error()})
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: answer})
}

func (h *planHandler) selections(r *http.Request) ([]planSelection, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	end, err := optionalTime(r, "end", h.now())
	if err != nil {
		return nil, err
	}
	return formSelections(r, end.Add(-time.Hour), end)
}

// formSelections returns the selectors of a form that is parsed. start and end hold where it has none.
func formSelections(r *http.Request, start, end time.Time) ([]planSelection, error) {
	start, err := optionalTime(r, "start", start)
	if err != nil {
		return nil, err
	}
	if end, err = optionalTime(r, "end", end); err != nil {
		return nil, err
	}
	if len(r.Form["match[]"]) == 0 {
		return nil, errors.New("no match[] parameter provided")
	}
	var parsed [][]*labels.Matcher
	for _, text := range r.Form["match[]"] {
		matchers, err := pathlabel.Parser(parser.NewParser(parser.Options{})).ParseMetricSelector(text)
		if err != nil {
			return nil, fmt.Errorf("invalid parameter \"match[]\": %w", err)
		}
		parsed = append(parsed, matchers)
	}
	var all []planSelection
	for _, matchers := range distinct(parsed) {
		all = append(all, planSelection{start.UnixMilli(), end.UnixMilli(), matchers})
	}
	return all, nil
}

func (h *planHandler) plan(ctx context.Context, selections []planSelection) (planAnswer, error) {
	first := selections[0]
	answer := planAnswer{Start: time.UnixMilli(first.start).UTC(), End: time.UnixMilli(first.end).UTC(), Groups: []planGroup{}}
	for _, s := range selections {
		names, q := map[storage.Ref]string{}, storage.Query{Start: s.start, End: s.end, Samples: true}
		err := h.queryable.EachRef(ctx, s.start, s.end, s.matchers, func(ls labels.Labels, ref storage.Ref) {
			names[ref] = ls.Get(model.MetricNameLabel)
			q.Refs = append(q.Refs, ref)
		})
		if err != nil {
			return answer, err
		}
		plans, err := h.planner.Plan(q)
		if err != nil {
			return answer, httpapi.QueryError(ctx, "plan", err)
		}
		answer.Series += len(q.Refs)
		for _, p := range plans {
			answer.Groups = append(answer.Groups, planGroup{
				Kind: p.Kind, Metric: names[p.First], UID: fmt.Sprintf("%X", p.Metric), Series: p.Series, Reads: p.Reads,
				Rows: p.Rows, RowsOfMetric: p.RowsOfMetric, RowsExpected: p.RowsExpected, CostMillis: p.Costs,
				Last: lastOutcome(p.Last),
			})
		}
	}
	return answer, nil
}

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// point is a value at an instant as the API writes both: nothing is rounded. The value of a
// histogram is its JSON.
type point struct{ at, value string }

// result is one series of an answer. Vectors are matrices of one point; floats come before
// histograms.
type result struct {
	labels string // {a="b", ...}, sorted
	points []point
}

func (r result) String() string { return fmt.Sprintf("%s %v", r.labels, r.points) }

// Query returns an instant query. The series are sorted by labels.
func (c client) Query(t testing.TB, expr string, at time.Time) []result {
	t.Helper()
	return c.ask(t, "/api/v1/query", url.Values{"query": {expr}, "time": {stamp(at)}})
}

// QueryRange returns a range query. The series are sorted by labels.
func (c client) QueryRange(t testing.TB, expr string, from, to time.Time, step time.Duration) []result {
	t.Helper()
	return c.ask(t, "/api/v1/query_range", url.Values{
		"query": {expr}, "start": {stamp(from)}, "end": {stamp(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	})
}

// Series returns the labels of the series that a selector finds, as in result.
func (c client) Series(t testing.TB, selector string, from, to time.Time) []string {
	t.Helper()
	var found []map[string]string
	c.API(t, "/api/v1/series", url.Values{"match[]": {selector}, "start": {stamp(from)}, "end": {stamp(to)}}, &found)
	all := make([]string, len(found))
	for i, ls := range found {
		all[i] = labelText(ls)
	}
	slices.Sort(all)
	return all
}

// API requests a path of the query API as Grafana does and decodes the data of the answer. An
// answer other than success fails the test.
func (c client) API(t testing.TB, path string, form url.Values, data any) {
	t.Helper()
	if err := c.api(t, path, form, data); err != nil {
		t.Fatal(err)
	}
}

func (c client) api(t testing.TB, path string, form url.Values, data any) error {
	method, body := http.MethodPost, []byte(form.Encode())
	// Prometheus accepts no POST there
	if strings.HasSuffix(path, "/metadata") || strings.HasSuffix(path, "/values") {
		method, path, body = http.MethodGet, path+"?"+form.Encode(), nil
	}
	r, err := c.do(t.Context(), method, path, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, body)
	if err != nil {
		return err
	}
	var envelope struct {
		Status, ErrorType, Error string
		Data                     json.RawMessage
	}
	if err := json.Unmarshal(r.body, &envelope); err != nil || envelope.Status != "success" {
		return fmt.Errorf("%s %v: answer %v", path, form, r)
	}
	return json.Unmarshal(envelope.Data, data)
}

// query is Query that returns an error, so that the caller can repeat it.
func (c client) query(t testing.TB, expr string, at time.Time) ([]result, error) {
	var a answer
	err := c.api(t, "/api/v1/query", url.Values{"query": {expr}, "time": {stamp(at)}}, &a)
	return a.results, err
}

func (c client) ask(t testing.TB, path string, form url.Values) []result {
	t.Helper()
	var a answer
	c.API(t, path, form, &a)
	return a.results
}

// answer is data of a query's answer, whatever its type.
type answer struct{ results []result }

// UnmarshalJSON implements json.Unmarshaler.
func (a *answer) UnmarshalJSON(raw []byte) error {
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		return err
	}
	if data.ResultType == "scalar" || data.ResultType == "string" {
		var p point
		err := json.Unmarshal(data.Result, &p)
		a.results = []result{{points: []point{p}}}
		return err
	}
	var all []struct {
		Metric             map[string]string
		Value, Histogram   *point
		Values, Histograms []point
	}
	if err := json.Unmarshal(data.Result, &all); err != nil {
		return err
	}
	for _, s := range all {
		points := slices.Concat(s.Values, s.Histograms)
		for _, p := range []*point{s.Value, s.Histogram} {
			if p != nil {
				points = append(points, *p)
			}
		}
		a.results = append(a.results, result{labels: labelText(s.Metric), points: points})
	}
	slices.SortStableFunc(a.results, func(x, y result) int { return strings.Compare(x.labels, y.labels) })
	return nil
}

// UnmarshalJSON implements json.Unmarshaler for [seconds, value].
func (p *point) UnmarshalJSON(raw []byte) error {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(raw, &pair); err != nil {
		return err
	}
	p.at, p.value = string(pair[0]), string(pair[1])
	if text, err := strconv.Unquote(p.value); err == nil {
		p.value = text
	}
	return nil
}

func labelText(ls map[string]string) string {
	pairs := make([]string, 0, len(ls))
	for _, name := range slices.Sorted(maps.Keys(ls)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", name, ls[name]))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// stamp returns a time as the API takes it, in seconds with milliseconds.
func stamp(at time.Time) string {
	return fmt.Sprintf("%d.%03d", at.Unix(), at.Nanosecond()/int(time.Millisecond))
}

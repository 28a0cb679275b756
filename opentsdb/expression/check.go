package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/opentsdb/jexl"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// most bounds the filters, the expressions and the outputs of a request.
const most = query.MaxQueries

// Check checks everything that needs no series, and returns the sub queries of the metrics. Errors are
// SyntaxErrors, and RequestErrors for what a TSD refuses later. zone is that of dates; nil: UTC.
func (r *Request) Check(now time.Time, zone *time.Location) (*query.Request, error) {
	if err := r.check(now); err != nil {
		return nil, classed(err)
	}
	q, err := r.queries()
	if err == nil {
		q.DefaultZone, q.NoAnnotations = zone, true
		err = q.Check(now)
	}
	if err != nil {
		return nil, unread(errors.New(err.Error()))
	}
	return q, classed(r.checkNesting())
}

// classed makes an error that has no class one of a request that a TSD fails to read.
func classed(err error) error {
	var request query.RequestError
	if err == nil || errors.As(err, &request) {
		return err
	}
	return unread(err)
}

func (r *Request) check(now time.Time) error {
	switch {
	case r.Time == nil:
		return errors.New("missing time")
	case r.Time.check(now) != nil:
		return errors.New("Invalid time")
	case len(r.Metrics) == 0:
		return errors.New("missing or empty metrics")
	case max(len(r.Filters), len(r.Expressions), len(r.Outputs)) > most:
		return refused("A request may have at most %d filters, expressions and outputs", most)
	case slices.Contains(r.Outputs, nil):
		return refused("An output is null")
	}
	if err := r.checkIDs(); err != nil {
		return err
	}
	if i := slices.IndexFunc(r.Metrics, func(m *Metric) bool { return m.check(now) != nil }); i >= 0 {
		return fmt.Errorf("Invalid metric at index %d", i)
	}
	if i := slices.IndexFunc(r.Filters, func(f *Filter) bool { return checkID(f.ID) != nil }); i >= 0 {
		return fmt.Errorf("Invalid filter at index %d", i)
	}
	for i, e := range r.Expressions {
		if err := e.check(i); err != nil {
			return err
		}
	}
	return r.checkUses()
}

func (t *Timespan) check(now time.Time) error {
	if t.Start == "" {
		return errors.New("missing or empty start")
	}
	for _, at := range []query.Text{t.Start, orEmpty(t.End)} {
		if _, err := query.ParseTime(string(at), time.UTC, now); at != "" && err != nil {
			return err
		}
		if _, err := query.ParseZone(string(orEmpty(t.Timezone))); err != nil && query.IsDate(string(at)) {
			return err
		}
	}
	if d := t.Downsampler; d != nil {
		if _, err := aggregate.ParseDuration(string(d.Interval)); err != nil {
			return err
		}
		if err := checkAggregator(d.Aggregator); err != nil {
			return err
		}
	}
	return checkAggregator(t.Aggregator)
}

// checkAggregator looks for the name in lower case, as a TSD does: it refuses squareSum.
func checkAggregator(name query.Text) error {
	if _, ok := aggregate.Get(strings.ToLower(string(name))); !ok {
		return errors.New("Invalid aggregator")
	}
	return nil
}

// checkIDs refuses what is there twice. Metrics and expressions share their names.
func (r *Request) checkIDs() error {
	if slices.Contains(r.Metrics, nil) || slices.Contains(r.Filters, nil) || slices.Contains(r.Expressions, nil) {
		return errors.New("A metric, a filter or an expression is null")
	}
	variables, filters := map[query.Text]bool{}, map[query.Text]bool{}
	for _, m := range r.Metrics {
		if variables[m.ID] {
			return fmt.Errorf("duplicated metric id: %s", m.ID)
		}
		variables[m.ID] = true
	}
	for _, f := range r.Filters {
		if filters[f.ID] {
			return fmt.Errorf("duplicated filter id: %s", f.ID)
		}
		filters[f.ID] = true
	}
	for _, e := range r.Expressions {
		if variables[e.ID] {
			return fmt.Errorf("Duplicated variable or expression id: %s", e.ID)
		}
		variables[e.ID] = true
	}
	return nil
}

func checkID(id query.Text) error {
	for _, c := range id {
		if c > 0xffff || !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return fmt.Errorf("Invalid id (%q): illegal character: %c", id, c)
		}
	}
	if id == "" || len([]rune(id)) == 1 && unicode.IsDigit([]rune(id)[0]) {
		return errors.New("The ID cannot be empty or an integer")
	}
	return nil
}

func (m *Metric) check(now time.Time) error {
	if m.Metric == "" {
		return errors.New("missing or empty metric")
	}
	if offset := orEmpty(m.TimeOffset); offset != "" {
		if _, err := query.ParseTime(string(offset), time.UTC, now); err != nil {
			return err
		}
	}
	if name := orEmpty(m.Aggregator); name != "" {
		if err := checkAggregator(name); err != nil {
			return err
		}
	}
	return checkID(m.ID)
}

// check parses the expression and sets what is not given.
func (e *Expression) check(i int) (err error) {
	if e.Expr == "" || checkID(e.ID) != nil {
		return fmt.Errorf("Invalid expression at index %d", i)
	}
	if e.script, err = jexl.Parse(string(e.Expr)); err != nil {
		return err
	}
	if e.Join == nil {
		e.Join = &Join{Operator: union, IncludeAggTags: true}
	}
	return nil
}

// checkUses checks that what is named exists.
func (r *Request) checkUses() error {
	for _, m := range r.Metrics {
		id := orEmpty(m.Filter)
		if id != "" && r.Filters == nil {
			return fmt.Errorf("No filter defined: %s", id)
		}
		if id != "" && r.filter(id) == nil {
			return fmt.Errorf("unrecognized filter id %s in metric %s", id, m.ID)
		}
	}
	known := map[string]bool{}
	for _, m := range r.Metrics {
		known[string(m.ID)] = true
	}
	for _, e := range r.Expressions {
		known[string(e.ID)] = true
	}
	for _, e := range r.Expressions {
		for _, v := range e.script.Variables() {
			if !known[v] {
				return fmt.Errorf("Expression [%s] was missing input %s", e.Expr, v)
			}
		}
	}
	for _, e := range r.Expressions {
		switch {
		case e.Join.Operator == "":
			return errors.New("The set operator cannot be null")
		case len(e.script.Variables()) == 0:
			return errors.New("The expression didn't appear to have any variables")
		}
	}
	return nil
}

func (r *Request) filter(id query.Text) *Filter {
	i := slices.IndexFunc(r.Filters, func(f *Filter) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return r.Filters[i]
}

// checkNesting refuses expressions that need themselves.
func (r *Request) checkNesting() error {
	const open, closed = 1, 2
	state, byID := map[*Expression]int{}, r.expressions()
	var visit func(e *Expression) error
	visit = func(e *Expression) error {
		state[e] = open
		for _, v := range e.script.Variables() {
			inner := byID[v]
			switch {
			case inner == nil || state[inner] == closed:
				continue
			case inner == e:
				return refused("Self referencing expression found: %s", e.ID)
			case state[inner] == open:
				return refused("Circular reference found: %s", e.ID)
			}
			if err := visit(inner); err != nil {
				return err
			}
		}
		state[e] = closed
		return nil
	}
	ids := make([]string, len(r.Expressions))
	for i, e := range r.Expressions {
		ids[i] = string(e.ID)
	}
	for _, id := range java.InMapOrder(ids, len(ids)) {
		if state[byID[id]] == closed {
			continue
		}
		if err := visit(byID[id]); err != nil {
			return err
		}
	}
	return nil
}

// expressions returns the expressions by their ids.
func (r *Request) expressions() map[string]*Expression {
	byID := map[string]*Expression{}
	for _, e := range r.Expressions {
		byID[string(e.ID)] = e
	}
	return byID
}

package expression

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/jexl"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// A Request is what /api/query/exp is asked, in JSON. It is shown in the answer, with its defaults.
type Request struct {
	Name        *query.Text   `json:"name"`
	Time        *Timespan     `json:"time"`
	Filters     []*Filter     `json:"filters"`
	Metrics     []*Metric     `json:"metrics"`
	Expressions []*Expression `json:"expressions"`
	Outputs     []*Output     `json:"outputs"`
}

// A Timespan is the time of a request and what is computed of every metric.
type Timespan struct {
	Start       query.Text   `json:"start"`
	End         *query.Text  `json:"end"`
	Timezone    *query.Text  `json:"timezone"`
	Downsampler *Downsampler `json:"downsampler"`
	Aggregator  query.Text   `json:"aggregator"`
	Rate        query.Flag   `json:"rate"`
}

// A Downsampler downsamples all metrics. A TSD ignores its fill policy.
type Downsampler struct {
	Interval   query.Text  `json:"interval"`
	Aggregator query.Text  `json:"aggregator"`
	FillPolicy *FillPolicy `json:"fillPolicy"`
}

// A Filter is conditions on tags under an id.
type Filter struct {
	ID           query.Text   `json:"id"`
	Tags         []*TagFilter `json:"tags"`
	ExplicitTags query.Flag   `json:"explicitTags"`
}

// A TagFilter is a condition on a tag.
type TagFilter struct{ query.Filter }

// A Metric is a variable: the series of a metric. A TSD ignores its TimeOffset.
type Metric struct {
	Metric     query.Text  `json:"metric"`
	ID         query.Text  `json:"id"`
	Filter     *query.Text `json:"filter"`
	Aggregator *query.Text `json:"aggregator"`
	TimeOffset *query.Text `json:"timeOffset"`
	FillPolicy *FillPolicy `json:"fillPolicy"`
}

// An Expression is a variable that is computed of others.
type Expression struct {
	ID         query.Text  `json:"id"`
	Expr       query.Text  `json:"expr"`
	Join       *Join       `json:"join"`
	FillPolicy *FillPolicy `json:"fillPolicy"` // a TSD ignores it

	script *jexl.Script
}

// A Join is how the series of the variables of an expression are matched.
type Join struct {
	Operator       operator   `json:"operator"`
	UseQueryTags   query.Flag `json:"useQueryTags"`
	IncludeAggTags query.Flag `json:"includeAggTags"`
}

// An Output is a variable that is answered.
type Output struct {
	ID    *query.Text `json:"id"`
	Alias *query.Text `json:"alias"`
}

// An operator tells which series a join has.
type operator string

const (
	union        operator = "union"        // those that any variable has
	intersection operator = "intersection" // those that all variables have
)

// UnmarshalJSON implements json.Unmarshaler.
func (o *operator) UnmarshalJSON(b []byte) error {
	var s query.Text
	if err := json.Unmarshal(b, &s); err != nil || string(b) == "null" {
		return err
	}
	switch *o = operator(strings.ToLower(string(s))); *o {
	case union, intersection:
		return nil
	}
	return fmt.Errorf("Unrecognized set operator: %s", s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *Join) UnmarshalJSON(b []byte) error {
	type plain Join // without this method
	p := plain{IncludeAggTags: true}
	err := json.Unmarshal(b, &p)
	*j = Join(p)
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *TagFilter) UnmarshalJSON(b []byte) error {
	var j struct {
		Type, TagK, Filter query.Text
		GroupBy            query.Flag
		GroupByOld         query.Flag `json:"group_by"`
	}
	err := json.Unmarshal(b, &j)
	if err == nil {
		f.Filter, err = query.NewFilter(string(j.TagK), string(j.Type), string(j.Filter), bool(j.GroupBy || j.GroupByOld))
	}
	return err
}

// MarshalJSON implements json.Marshaler.
func (f TagFilter) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		TagKey  string `json:"tagk"`
		Filter  string `json:"filter"`
		GroupBy bool   `json:"group_by"`
		Type    string `json:"type"`
	}{f.TagKey, f.Text, f.GroupBy, f.Type})
}

// Parse reads a request. Its errors are SyntaxErrors, which a TSD answers with status 500.
func Parse(body []byte) (*Request, error) {
	if len(body) == 0 {
		return nil, unread(errors.New("Incoming data was null or empty"))
	}
	var r *Request
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&r); err != nil {
		return nil, unread(fmt.Errorf("Unable to parse the given JSON: %w", err))
	}
	if r == nil {
		return nil, unread(errors.New("Incoming data was null"))
	}
	return r, nil
}

// unread makes an error one of a request that a TSD fails to read.
func unread(err error) error {
	if _, already := errors.AsType[query.SyntaxError](err); already {
		return err
	}
	return query.SyntaxError{Err: err}
}

// refused makes an error one of a request that cannot be answered.
func refused(format string, arguments ...any) error {
	return query.RequestError{Message: fmt.Sprintf(format, arguments...)}
}

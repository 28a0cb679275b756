package expression

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
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
	Rate        bool         `json:"rate"`
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
	ExplicitTags bool         `json:"explicitTags"`
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
	Operator       operator `json:"operator"`
	UseQueryTags   bool     `json:"useQueryTags"`
	IncludeAggTags bool     `json:"includeAggTags"`
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
	if err := jackson.Read(body, jackson.Pointer(&r, jackson.Zero[Request], (*Request).reader)); err != nil {
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

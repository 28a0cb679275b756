package query

import (
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
)

// ParseJSON reads a request from a body. Errors are RequestErrors and SyntaxErrors.
func ParseJSON(body []byte) (*Request, error) {
	r, err := parseJSON(body)
	return r, refused(err)
}

func parseJSON(body []byte) (*Request, error) {
	if len(body) == 0 {
		return nil, errors.New("Missing request content")
	}
	r, queries := &Request{}, []*SubQuery(nil)
	if err := jackson.Read(body, r.reader(&queries)); err != nil {
		return nil, fmt.Errorf("Unable to parse the given JSON: %w", err)
	}
	for _, q := range queries {
		if q == nil {
			return nil, errors.New("Missing sub queries")
		}
		r.add(*q)
	}
	return r, nil
}

// reader reads TSQuery of OpenTSDB 2.4.1. What means nothing here must be of its type, too.
func (r *Request) reader(queries *[]*SubQuery) jackson.Reader {
	return jackson.Object(jackson.Fields{
		"start": jackson.Text(&r.Start), "end": jackson.Text(&r.End), "timezone": jackson.Text(&r.Timezone),
		"padding": jackson.Bool(&r.Padding), "noAnnotations": jackson.Bool(&r.NoAnnotations), "globalAnnotations": jackson.Bool(&r.GlobalAnnotations),
		"msResolution": jackson.Bool(&r.MsResolution), "showTSUIDs": jackson.Bool(&r.ShowTSUIDs), "showSummary": jackson.Bool(&r.ShowSummary),
		"showStats": jackson.Bool(&r.ShowStats), "showQuery": jackson.Bool(&r.ShowQuery), "delete": jackson.Bool(&r.Delete), "useCalendar": jackson.Bool(&r.UseCalendar),
		"queries": jackson.Objects(queries, (*SubQuery).reader),
		"options": jackson.Any(func(string) jackson.Reader { return jackson.List(new([]string), jackson.Text[string]) }), "overrideByteLimit": jackson.Bool(new(bool)), "overrideDataPointLimit": jackson.Bool(new(bool)),
	})
}

// reader reads TSSubQuery. Tags and filters replace each other: those that come last hold.
func (q *SubQuery) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{
		"aggregator": jackson.Text(&q.Aggregator), "metric": jackson.Text(&q.Metric), "downsample": jackson.Text(&q.Downsample), "rollupUsage": jackson.Text(&q.RollupUsage),
		"rate": jackson.Bool(&q.Rate), "explicitTags": jackson.Bool(&q.ExplicitTags), "preAggregate": jackson.Bool(&q.PreAggregate), "showHistogramBuckets": jackson.Bool(&q.ShowBuckets),
		"tsuids": jackson.List(&q.TSUIDs, jackson.Text[string]), "percentiles": jackson.List(&q.Percentiles, percentile),
		"rateOptions": jackson.Pointer(&q.RateOptions, aggregate.DefaultRateOptions, rateOptions),
		"tags":        q.readTags, "filters": q.readFilters,
		"useFuzzyFilter": jackson.Bool(new(bool)), "useMultiGets": jackson.Bool(new(bool)), "index": jackson.Int(new(int)),
	})
}

// rateOptions reads RateOptions, which may have no other fields. A TSD has two names for the first one.
func rateOptions(o *aggregate.RateOptions) jackson.Reader {
	return jackson.Strict(jackson.Fields{
		"counter": jackson.Bool(&o.Counter), "isCounter": jackson.Bool(&o.Counter), "counterMax": jackson.Long(&o.CounterMax), "resetValue": jackson.Long(&o.ResetValue),
		"dropResets": jackson.Bool(&o.DropResets),
	})
}

// readTags replaces the filters by those of an object of tags.
func (q *SubQuery) readTags(s *jackson.Scanner) error {
	var tags map[string]*string
	if err := jackson.Texts(&tags)(s); err != nil {
		return err
	}
	if tags == nil && q.Filters == nil {
		return errors.New("null is no object of tags") // after filters it is one without tags
	}
	q.Filters = []Filter{}
	for _, key := range sortedKeys(tags) {
		value := ""
		if tags[key] != nil {
			value = *tags[key]
		}
		f, err := parseFilter(key, value, true)
		if err != nil {
			return err
		}
		q.addFilter(f)
	}
	return nil
}

// readFilters replaces the filters by those of a list.
func (q *SubQuery) readFilters(s *jackson.Scanner) error {
	var list []*Filter
	if err := jackson.List(&list, ReadFilter)(s); err != nil {
		return err
	}
	if q.Filters = nil; list != nil {
		q.Filters = []Filter{}
	}
	for _, f := range list {
		q.addFilter(*f)
	}
	return nil
}

// ReadFilter reads TagVFilter.
func ReadFilter(to **Filter) jackson.Reader {
	return func(s *jackson.Scanner) error {
		var sent Filter
		err := jackson.Object(jackson.Fields{
			"type": jackson.Text(&sent.Type), "tagk": jackson.Text(&sent.TagKey), "filter": jackson.Text(&sent.Text),
			"groupBy": jackson.Bool(&sent.GroupBy), "group_by": jackson.Bool(&sent.GroupBy),
		})(s)
		if err != nil {
			return err
		}
		f, err := NewFilter(sent.TagKey, sent.Type, sent.Text, sent.GroupBy)
		*to = &f
		return err
	}
}

// percentile reads a percentile, which must be a number.
func percentile(to *float32) jackson.Reader {
	return func(s *jackson.Scanner) error {
		var f float64
		if s.Null() {
			return errors.New("null is no percentile")
		}
		err := jackson.Double(&f)(s)
		if *to = float32(f); f != f {
			return errors.New("NaN is no percentile")
		}
		return err
	}
}

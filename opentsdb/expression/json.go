package expression

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// The readers of the classes of net.opentsdb.query.pojo, all of which pass over fields that they do not know.

func (r *Request) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{
		"name": jackson.TextOrNull(&r.Name), "time": jackson.Pointer(&r.Time, jackson.Zero[Timespan], (*Timespan).reader),
		"filters": jackson.Objects(&r.Filters, (*Filter).reader), "metrics": jackson.Objects(&r.Metrics, (*Metric).reader),
		"expressions": jackson.Objects(&r.Expressions, (*Expression).reader), "outputs": jackson.Objects(&r.Outputs, (*Output).reader),
	})
}

func (t *Timespan) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{
		"start": jackson.Text(&t.Start), "end": jackson.TextOrNull(&t.End), "timezone": jackson.TextOrNull(&t.Timezone), "aggregator": jackson.Text(&t.Aggregator),
		"rate": jackson.Bool(&t.Rate), "downsampler": jackson.Pointer(&t.Downsampler, jackson.Zero[Downsampler], (*Downsampler).reader),
	})
}

func (d *Downsampler) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{"interval": jackson.Text(&d.Interval), "aggregator": jackson.Text(&d.Aggregator), "fillPolicy": fillPolicy(&d.FillPolicy)})
}

func (f *Filter) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{
		"id": jackson.Text(&f.ID), "explicitTags": jackson.Bool(&f.ExplicitTags), "tags": jackson.List(&f.Tags, tagFilter),
	})
}

func tagFilter(to **TagFilter) jackson.Reader {
	return jackson.OrNull(func(s *jackson.Scanner) error {
		var f *query.Filter
		err := query.ReadFilter(&f)(s)
		if f != nil {
			*to = &TagFilter{*f}
		}
		return err
	}, func() { *to = nil })
}

func (m *Metric) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{
		"metric": jackson.Text(&m.Metric), "id": jackson.Text(&m.ID), "filter": jackson.TextOrNull(&m.Filter), "aggregator": jackson.TextOrNull(&m.Aggregator),
		"timeOffset": jackson.TextOrNull(&m.TimeOffset), "fillPolicy": fillPolicy(&m.FillPolicy),
	})
}

func (e *Expression) reader() jackson.Reader {
	join := func() Join { return Join{IncludeAggTags: true} }
	return jackson.Object(jackson.Fields{
		"id": jackson.Text(&e.ID), "expr": jackson.Text(&e.Expr), "join": jackson.Pointer(&e.Join, join, (*Join).reader), "fillPolicy": fillPolicy(&e.FillPolicy),
	})
}

func (j *Join) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{
		"operator": j.Operator.read, "useQueryTags": jackson.Bool(&j.UseQueryTags), "includeAggTags": jackson.Bool(&j.IncludeAggTags),
	})
}

func (o *Output) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{"id": jackson.TextOrNull(&o.ID), "alias": jackson.TextOrNull(&o.Alias)})
}

// read reads an operator, in any case; null is none.
func (o *operator) read(s *jackson.Scanner) error {
	var name *string
	if err := jackson.TextOrNull(&name)(s); err != nil || name == nil {
		return err
	}
	switch *o = operator(strings.ToLower(*name)); *o {
	case union, intersection:
		return nil
	}
	return fmt.Errorf("Unrecognized set operator: %s", *name)
}

// fillPolicy reads NumericFillPolicy; null is none.
func fillPolicy(to **FillPolicy) jackson.Reader {
	return jackson.OrNull(func(s *jackson.Scanner) error {
		var policy *string
		value := 0.0
		if err := jackson.Object(jackson.Fields{"policy": jackson.TextOrNull(&policy), "value": jackson.Double(&value)})(s); err != nil {
			return err
		}
		f, err := parseFillPolicy(policy, value)
		*to = &f
		return err
	}, func() { *to = nil })
}

package query

// An echoed sub query is what showQuery shows of it, in a TSD's order.
type echoed struct {
	Aggregator   string            `json:"aggregator"`
	Metric       *string           `json:"metric"`
	TSUIDs       []string          `json:"tsuids"`
	Downsample   *string           `json:"downsample"`
	Rate         bool              `json:"rate"`
	Filters      []echoedFilter    `json:"filters"`
	Percentiles  []float32         `json:"percentiles"`
	Index        int               `json:"index"`
	RateOptions  *echoedRate       `json:"rateOptions"`
	FilterTagKs  [][]byte          `json:"filterTagKs"` // UIDs in base64
	ExplicitTags bool              `json:"explicitTags"`
	FuzzyFilter  bool              `json:"useFuzzyFilter"`
	PreAggregate bool              `json:"preAggregate"`
	RollupUsage  *string           `json:"rollupUsage"`
	RollupTable  string            `json:"rollupTable"`
	ShowBuckets  bool              `json:"showHistogramBuckets"`
	MultiGets    bool              `json:"useMultiGets"`
	Tags         map[string]string `json:"tags"`
	Histogram    bool              `json:"histogramQuery"`
}

type echoedFilter struct {
	TagKey  string `json:"tagk"`
	Filter  string `json:"filter"`
	GroupBy bool   `json:"group_by"`
	Type    string `json:"type"`
}

type echoedRate struct {
	Counter    bool  `json:"counter"`
	CounterMax int64 `json:"counterMax"`
	ResetValue int64 `json:"resetValue"`
	DropResets bool  `json:"dropResets"`
}

func (q *SubQuery) echo(index int) echoed {
	e := echoed{
		Aggregator: q.Aggregator, Metric: orNull(q.Metric), TSUIDs: q.TSUIDs, Downsample: orNull(q.Downsample), Rate: q.Rate,
		Filters: []echoedFilter{}, Percentiles: q.Percentiles, Index: index, ExplicitTags: q.ExplicitTags,
		FuzzyFilter: true, PreAggregate: q.PreAggregate, RollupUsage: orNull(q.RollupUsage), RollupTable: q.readFrom.name(), ShowBuckets: q.ShowBuckets,
		MultiGets: true, FilterTagKs: q.keyUIDs, Tags: map[string]string{}, Histogram: len(q.Percentiles) > 0 || q.ShowBuckets,
	}
	for _, f := range q.Filters {
		e.Filters = append(e.Filters, echoedFilter{f.TagKey, f.Text, f.GroupBy, f.Type})
		if f.GroupBy {
			e.Tags[f.TagKey] = f.Type + "(" + f.Text + ")"
		}
	}
	if o := q.RateOptions; o != nil {
		e.RateOptions = &echoedRate{o.Counter, o.CounterMax, o.ResetValue, o.DropResets}
	}
	return e
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

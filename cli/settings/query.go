package settings

import (
	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// queryFlags adds the flags of queries.
func queryFlags(f define, o *adapter.Options) {
	f("query.timeout", "Time limit of one query or remote read, in any language, including waiting.").Default(o.QueryTimeout.String()).DurationVar(&o.QueryTimeout)
	f("query.max-series", "Series that one PromQL selector, one Graphite request or one search for names may find; 0: no limit.").Default(text(o.QuerySeries)).IntVar(&o.QuerySeries)
	f("query.max-samples", "Samples that one query may hold in memory, in any language (empty points of Graphite included), and that an unstreamed remote read may return.").Default(text(o.QuerySamples)).IntVar(&o.QuerySamples)
	f("query.max-concurrency", "Queries that compute at once, for each of PromQL, remote read and Graphite; at most 4 for each core. Those that have computed least go first; large ones begin one after the other.").Default(text(o.QueryParallel)).IntVar(&o.QueryParallel)
	f("query.slow-after", "A query in any language that takes at least so long is logged, and listed by /api/v1/status/slow_queries and the page; 0: none.").Default(o.QuerySlow.String()).DurationVar(&o.QuerySlow)
	f("query.max-memory-bytes", "Memory that the answers to all queries may hold together. A query beyond it is refused (422, or 503 while others hold it). 0: a quarter of the memory of the machine or cgroup.").Default(flagvalue.SizeText(o.QueryMemory)).SetValue((*flagvalue.Size)(&o.QueryMemory))
	f("query.enable-feature", "Experimental part of PromQL, by Prometheus' name: promql-experimental-functions, promql-extended-range-selectors (anchored, smoothed) or promql-binop-fill-modifiers. May be given several times, or have several names between commas.").PlaceHolder("NAME").StringsVar(&o.Prometheus.Query.Features)
	f("query.lookback", "How long the newest sample of a metric counts in PromQL: PATTERN=step (twice the step of each series, for points that come more seldom than --query.lookback-delta), PATTERN=DURATION, or either without a pattern, for all metrics. May be given several times; the first pattern (RE2, anchored) that matches decides. At most 48h.").StringsVar(&o.Prometheus.Query.Lookbacks)
	f("query.lookback-delta", "Age of the oldest sample that a PromQL instant returns.").Default(o.Prometheus.Query.Lookback.String()).DurationVar(&o.Prometheus.Query.Lookback)
	f("query.promql-engine", "What evaluates PromQL: columns (on all cores, the rest as prometheus) or prometheus (the engine of the Prometheus module). The answers are the same.").Default(o.Prometheus.Query.Engine).EnumVar(&o.Prometheus.Query.Engine, "columns", "prometheus")
	f("query.cache-max-bytes", "Memory for the answers of PromQL range queries that are kept; 0: none are kept. A repeated query evaluates only its new steps and those that changed points reach. It is part of --query.max-memory-bytes and gives way to queries. Nothing is kept where other processes write to the tables.").Default(flagvalue.SizeText(o.Prometheus.Query.CacheBytes)).SetValue((*flagvalue.Size)(&o.Prometheus.Query.CacheBytes))
	f("query.selector-cache-max-bytes", "Memory for the series that selectors found, with their labels; 0: none are kept. It is part of --query.max-memory-bytes and gives way to queries. Nothing is kept where other processes write to the tables.").Default(flagvalue.SizeText(o.Prometheus.SelectorBytes)).SetValue((*flagvalue.Size)(&o.Prometheus.SelectorBytes))
	f("query.rollup-sums", "Let sum_over_time and avg_over_time add the sums of filled rollup tables where ranges fit these. It is faster over long ranges, and the last digits may differ from Prometheus'.").BoolVar(&o.Prometheus.Query.RollupSums)
	f("query.promql-shadow", "Percentage of PromQL queries that both engines evaluate. Differences are logged, and counted in tsdbridge_promql_queries_shadowed_total. Such a query takes as long as both.").Default("0").Float64Var(&o.Prometheus.Query.Shadow)
}

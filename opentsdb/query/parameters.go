package query

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
)

// ParseParameters reads a request from the parameters of a URL. metrics reads the expressions in exp, and
// returns the metrics that they need, in the form of m; nil: exp is ignored. Errors are RequestErrors and SyntaxErrors.
func ParseParameters(v url.Values, metrics func(expressions []string) ([]string, error)) (*Request, error) {
	r, err := parseParameters(v, metrics)
	return r, refused(err)
}

func parseParameters(v url.Values, metrics func(expressions []string) ([]string, error)) (*Request, error) {
	if v.Get("start") == "" {
		return nil, errors.New("Missing parameter <code>start</code>")
	}
	r := &Request{
		Start: v.Get("start"), End: v.Get("end"),
		Padding: v.Has("padding"), NoAnnotations: v.Has("no_annotations"), GlobalAnnotations: v.Has("global_annotations"),
		ShowTSUIDs: v.Has("show_tsuids"), MsResolution: v.Has("ms"),
		ShowQuery: v.Has("show_query"), ShowStats: v.Has("show_stats"), ShowSummary: v.Has("show_summary"),
		Arrays: v.Has("arrays"),
	}
	for _, s := range v["tsuid"] {
		q, err := parseTSUIDs(s)
		if err != nil {
			return nil, err
		}
		r.add(q)
	}
	if err := r.addMetrics(v["m"]); err != nil {
		return nil, err
	}
	if metrics != nil && v.Has("exp") {
		needed, err := metrics(v["exp"])
		if err == nil {
			err = r.addMetrics(needed)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(r.Queries) == 0 {
		return nil, errors.New("Missing sub queries")
	}
	return r, nil
}

func (r *Request) addMetrics(texts []string) error {
	for _, s := range texts {
		q, err := ParseM(s)
		if err != nil {
			return err
		}
		r.add(q)
	}
	return nil
}

// ParseM reads aggregator:[interval-function[-fill]:][rate[{…}]:]metric[{tags}[{filters}]].
func ParseM(s string) (SubQuery, error) {
	if s == "" {
		return SubQuery{}, errors.New("The query string was empty")
	}
	parts, err := splitParts(s)
	if err != nil {
		return SubQuery{}, err
	}
	q := SubQuery{Aggregator: parts[0]}
	if err := q.parseMetric(parts[len(parts)-1]); err != nil {
		return q, SyntaxError{err}
	}
	for _, part := range parts[1 : len(parts)-1] {
		lower := strings.ToLower(part)
		switch {
		case lower == "pre-agg":
			q.PreAggregate = true
		case strings.HasPrefix(lower, "rollup_"):
			q.RollupUsage = part
		case strings.HasPrefix(lower, "explicit_tags"):
			q.ExplicitTags = true
		default:
			err = q.parsePart(part)
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

// parseTSUIDs reads aggregator:[…:]TSUID,TSUID….
func parseTSUIDs(s string) (SubQuery, error) {
	if s == "" {
		return SubQuery{}, errors.New("The tsuid query string was empty")
	}
	parts, err := splitParts(s)
	if err != nil {
		return SubQuery{}, err
	}
	q := SubQuery{Aggregator: parts[0], TSUIDs: strings.Split(parts[len(parts)-1], ",")}
	for _, part := range parts[1 : len(parts)-1] {
		if err := q.parsePart(part); err != nil {
			return q, err
		}
	}
	return q, nil
}

func splitParts(s string) ([]string, error) {
	parts := strings.Split(s, ":")
	switch {
	case len(parts) < 2:
		return nil, fmt.Errorf("Invalid parameter m=%s (not enough :-separated parts)", s)
	case len(parts) > 5:
		return nil, fmt.Errorf("Invalid parameter m=%s (too many :-separated parts)", s)
	}
	return parts, nil
}

// parsePart reads a part that both kinds of queries have. Parts that mean nothing are ignored.
func (q *SubQuery) parsePart(part string) (err error) {
	lower := strings.ToLower(part)
	switch {
	case strings.HasPrefix(lower, "rate"):
		q.Rate = true
		if strings.Contains(part, "{") {
			q.RateOptions, err = parseRateOptions(part)
		}
	case part == "":
		return SyntaxError{errors.New("Index 0 out of bounds for length 0")}
	case part[0] >= '0' && part[0] <= '9':
		q.Downsample = part
	case strings.HasPrefix(lower, "percentiles"):
		q.Percentiles, err = parsePercentiles(part)
	case strings.HasPrefix(lower, "show-histogram-buckets"):
		q.ShowBuckets = true
	}
	return err
}

// parseRateOptions reads rate{counter[,max[,reset]]}.
func parseRateOptions(part string) (*aggregate.RateOptions, error) {
	o := aggregate.DefaultRateOptions()
	if len(part) < 6 {
		return nil, fmt.Errorf("Invalid rate options specification: %s", part)
	}
	values := strings.Split(part[5:len(part)-1], ",")
	if len(values) > 3 {
		return nil, fmt.Errorf("Incorrect number of values in rate options specification, must be counter[,counter max value,reset value], received: %d parts", len(values))
	}
	o.Counter, o.DropResets = strings.HasSuffix(values[0], "counter"), values[0] == "dropcounter"
	var err error
	if len(values) > 1 && values[1] != "" {
		if o.CounterMax, err = strconv.ParseInt(values[1], 10, 64); err != nil {
			return nil, fmt.Errorf("Max value of counter was not a number, received '%s'", values[1])
		}
	}
	if len(values) > 2 && values[2] != "" {
		if o.ResetValue, err = strconv.ParseInt(values[2], 10, 64); err != nil {
			return nil, fmt.Errorf("Reset value of counter was not a number, received '%s'", values[2])
		}
	}
	return &o, nil
}

// parsePercentiles reads percentiles[99,99.9].
func parsePercentiles(part string) (out []float32, err error) {
	from, to := strings.IndexByte(part, '['), strings.IndexByte(part, ']')
	if from < 0 || to < from {
		return nil, fmt.Errorf("Malformated percentile query paramater: %s", part)
	}
	for s := range strings.SplitSeq(part[from+1:to], ",") {
		p, err := strconv.ParseFloat(strings.TrimSpace(s), 32)
		if err != nil || math.IsNaN(p) {
			return nil, SyntaxError{fmt.Errorf("For input string: %q", strings.TrimSpace(s))}
		}
		out = append(out, float32(p))
	}
	return out, nil
}

// parseMetric reads metric[{tag=filter,…}[{tag=filter,…}]]: the first braces group by, the second
// do not.
func (q *SubQuery) parseMetric(s string) error {
	if s == "" {
		return errors.New("Metric cannot be null or empty")
	}
	curly := strings.IndexByte(s, '{')
	switch {
	case curly < 0:
		q.Metric = s
		return nil
	case s[len(s)-1] != '}':
		return fmt.Errorf("Missing '}' at the end of: %s", s)
	}
	q.Metric = s[:curly]
	if curly == len(s)-2 {
		return nil
	}
	end := strings.IndexByte(s, '}')
	if end < curly {
		return fmt.Errorf("begin %d, end %d, length %d", curly+1, end, len(s))
	}
	second := end != len(s)-1
	if second {
		if err := q.parseFilters(s[strings.LastIndexByte(s, '{')+1:len(s)-1], "filter", false, true); err != nil {
			return err
		}
	}
	return q.parseFilters(s[curly+1:end], "tag", true, second)
}

func (q *SubQuery) parseFilters(s, what string, groupBy, mayBeEmpty bool) error {
	for pair := range strings.SplitSeq(s, ",") {
		if pair == "" && mayBeEmpty {
			break
		}
		f, err := parsePair(pair, groupBy)
		if err != nil {
			return fmt.Errorf("When parsing %s '%s': %w", what, pair, err)
		}
		q.addFilter(f)
	}
	return nil
}

func parsePair(pair string, groupBy bool) (Filter, error) {
	kv := strings.Split(pair, "=")
	if len(kv) != 2 || kv[0] == "" || kv[1] == "" {
		return Filter{}, fmt.Errorf("invalid tag: %s", pair)
	}
	return parseFilter(kv[0], kv[1], groupBy)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

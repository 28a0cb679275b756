package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
)

// errArguments ends the parsing of a command line.
var errArguments = errors.New("not enough arguments")

// ParseCommandLine reads the arguments of a TSD's "tsdb query": START [END] [+option=value ...] and then queries, each
// FUNC [rate] [counter,max,reset] [downsample N FUNC] SERIES [tag=value ...]. It returns a body of /api/query for each
// query, which asks for instants in milliseconds. Options are for gnuplot, and ignored. Like a TSD, it cuts times to whole
// seconds, and takes N in milliseconds.
func ParseCommandLine(args []string, zone *time.Location, now time.Time) (bodies [][]byte, err error) {
	if len(args) < 3 {
		return nil, errArguments
	}
	p := &commandLine{args: args[1:]}
	start, err := ParseTime(args[0], zone, now)
	if err != nil {
		return nil, err
	}
	times := map[string]any{"start": start / 1000, "msResolution": true, "noAnnotations": true}
	if len(args) > 3 && isEnd(args[1]) {
		end, err := ParseTime(p.next(), zone, now)
		if err != nil {
			return nil, err
		}
		times["end"] = end / 1000
	}
	for strings.HasPrefix(p.peek(), "+") {
		p.next()
	}
	if len(p.args) == 0 {
		return nil, errArguments
	}
	for len(p.args) > 0 {
		query, err := p.query()
		if err != nil {
			return nil, err
		}
		times["queries"] = []any{query}
		body, err := json.Marshal(times)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// isEnd reports whether an argument behind the start is the end.
func isEnd(arg string) bool {
	if strings.HasPrefix(arg, "+") {
		return false
	}
	n, err := strconv.ParseInt(arg, 10, 64)
	return strings.ContainsAny(arg, ":/-") || err == nil && n > 0
}

// A commandLine is the arguments that are not read yet.
type commandLine struct {
	args []string
	err  error // an argument was missing
}

func (p *commandLine) peek() string {
	if len(p.args) == 0 {
		return ""
	}
	return p.args[0]
}

func (p *commandLine) next() string {
	if len(p.args) == 0 {
		p.err = errArguments
		return ""
	}
	arg := p.args[0]
	p.args = p.args[1:]
	return arg
}

// is goes over a word if it is the next one.
func (p *commandLine) is(word string) bool {
	if p.peek() != word {
		return false
	}
	p.next()
	return true
}

// query reads a query, as a sub query in JSON.
func (p *commandLine) query() (query map[string]any, err error) {
	query = map[string]any{"aggregator": p.next()}
	if _, ok := aggregate.Get(query["aggregator"].(string)); !ok && p.err == nil { //nolint:forcetypeassert // it was just set
		return nil, fmt.Errorf("No such aggregator: %s", query["aggregator"])
	}
	if p.is("rate") {
		query["rate"] = true
		if strings.HasPrefix(p.peek(), "counter") {
			if query["rateOptions"], err = counterOptions(p.next()); err != nil {
				return nil, err
			}
		}
	}
	if p.is("downsample") {
		interval, function := p.next(), p.next()
		if n, err := strconv.ParseInt(interval, 10, 64); (err != nil || n <= 0) && p.err == nil {
			return nil, fmt.Errorf("interval of downsample: %q: want milliseconds", interval)
		}
		query["downsample"] = interval + "ms-" + function
	}
	query["metric"] = p.next()
	tags := map[string]string{}
	for strings.Index(p.peek(), "=") > 0 && !strings.Contains(p.peek(), " ") {
		key, value, _ := strings.Cut(p.next(), "=")
		if other, have := tags[key]; value == "" || strings.Contains(value, "=") || have && other != value {
			return nil, fmt.Errorf("invalid tag: %s=%s", key, value)
		}
		tags[key] = value
	}
	query["tags"] = tags
	if strings.Contains(p.peek(), " ") {
		p.next() // options of a line of gnuplot
	}
	return query, p.err
}

// counterOptions reads counter[,max[,reset]].
func counterOptions(arg string) (map[string]any, error) {
	parts := strings.Split(arg, ",")
	options := map[string]any{"counter": true, "counterMax": int64(math.MaxInt64)}
	for i, name := range []string{"", "counterMax", "resetValue"} {
		if i == 0 || i >= len(parts) || parts[i] == "" {
			continue
		}
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		options[name] = n
	}
	return options, nil
}

// ParseLookupArguments reads the arguments of a TSD's "tsdb search lookup": [METRIC] [tag=value ...], where tag= and =value
// have any value and any tag. It returns a body of /api/search/lookup.
func ParseLookupArguments(args []string, limit int) ([]byte, error) {
	l := struct {
		Metric string      `json:"metric,omitempty"`
		Tags   []LookupTag `json:"tags"`
		Limit  int         `json:"limit"`
	}{Tags: []LookupTag{}, Limit: limit}
	if len(args) > 0 && !strings.Contains(args[0], "=") {
		l.Metric, args = args[0], args[1:]
	}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" && value == "" || strings.Contains(value, "=") {
			return nil, fmt.Errorf("invalid tag: %s", arg)
		}
		l.Tags = append(l.Tags, LookupTag{key, value})
	}
	if l.Metric == "" && len(l.Tags) == 0 {
		return nil, errArguments
	}
	return json.Marshal(l)
}

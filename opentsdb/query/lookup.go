package query

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A Lookup asks which series have a metric and tags.
type Lookup struct {
	Metric     string // "" and * are any
	Tags       []LookupTag
	Limit      int
	StartIndex int
}

// A LookupTag is a condition on a tag: "" and * are any key or any value.
type LookupTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// defaultLookup is how many series there are without a limit.
const defaultLookup = 25

// ParseLookup reads metric{key=value,key=*,*=value} and a limit from the parameters of a URL.
func ParseLookup(v url.Values) (*Lookup, error) {
	m := v.Get("m")
	if m == "" {
		return nil, RequestError{"Missing parameter <code>m</code>"}
	}
	l := &Lookup{Limit: defaultLookup}
	if text := v.Get("limit"); text != "" {
		if _, err := fmt.Sscanf(text, "%d", &l.Limit); err != nil {
			return nil, RequestError{"Unable to convert 'limit' to a valid number"}
		}
	}
	metric, tags, braces := strings.Cut(m, "{")
	l.Metric = metric
	if !braces {
		return l, nil
	}
	if !strings.HasSuffix(tags, "}") {
		return nil, RequestError{"Missing '}' at the end of: " + m}
	}
	for pair := range strings.SplitSeq(strings.TrimSuffix(tags, "}"), ",") {
		key, value, ok := strings.Cut(pair, "=")
		if pair == "" {
			continue
		}
		if !ok || key == "" && value == "" || strings.Contains(value, "=") {
			return nil, RequestError{"invalid tag: " + pair}
		}
		l.Tags = append(l.Tags, LookupTag{key, value})
	}
	return l, l.check()
}

// ParseLookupJSON reads a lookup from a body.
func ParseLookupJSON(body []byte) (*Lookup, error) {
	l := &Lookup{Limit: defaultLookup}
	if err := jackson.Read(body, l.reader()); err != nil {
		return nil, RequestError{"Unable to parse the given JSON: " + err.Error()}
	}
	return l, l.check()
}

// reader reads SearchQuery of OpenTSDB 2.4.1, as far as it is one of a lookup.
func (l *Lookup) reader() jackson.Reader {
	return jackson.Object(jackson.Fields{
		"metric": jackson.Text(&l.Metric), "limit": jackson.Int(&l.Limit), "startIndex": jackson.Int(&l.StartIndex), "useMeta": jackson.Bool(new(bool)),
		"tags": jackson.List(&l.Tags, func(t *LookupTag) jackson.Reader {
			return jackson.Strict(jackson.Fields{"key": jackson.Text(&t.Key), "value": jackson.Text(&t.Value)})
		}),
	})
}

func (l *Lookup) check() error {
	if l.Metric == "" && len(l.Tags) == 0 {
		return RequestError{"Missing metric and tags. Please supply at least one value."}
	}
	if len(l.Tags) > maxAlternatives {
		return RequestError{"Too many tags"}
	}
	return nil
}

// A Named is a series with its TSUID.
type Named struct {
	TSUID []byte
	storage.Series
}

// Lookup returns the series in the order of their TSUIDs, at most so many as asked for.
func (e *Engine) Lookup(ctx context.Context, l *Lookup) ([]Named, error) {
	filters, err := e.lookupFilters(ctx, l)
	if err != nil {
		return nil, err
	}
	found, err := e.o.Store.Find(ctx, filters, 0, storage.MaxTime, e.o.MaxSeries)
	if err != nil {
		return nil, err
	}
	out := make([]Named, 0, len(found))
	for _, m := range e.ordered(found) {
		out = append(out, Named{m.tsuid, m.Series})
	}
	out = out[min(max(l.StartIndex, 0), len(out)):]
	if l.Limit > 0 {
		out = out[:min(l.Limit, len(out))]
	}
	return out, nil
}

// lookupFilters returns the conditions. Of several values of one key a series has one.
func (e *Engine) lookupFilters(ctx context.Context, l *Lookup) ([]storage.Filter, error) {
	var filters []storage.Filter
	if !isAny(l.Metric) {
		if err := e.known(ctx, storage.MetricName, "metrics", l.Metric); err != nil {
			return nil, err
		}
		filters = append(filters, storage.Filter{Values: []string{l.Metric}})
	}
	keys := map[string][]string{}
	var order []string
	for _, t := range l.Tags {
		if err := e.knownTag(ctx, t); err != nil {
			return nil, err
		}
		key := t.Key
		if isAny(key) {
			key = ""
		}
		if _, ok := keys[key]; !ok {
			order = append(order, key)
		}
		keys[key] = append(keys[key], t.Value)
	}
	for _, key := range order {
		f := storage.Filter{Keys: []string{key}}
		if key == "" {
			var err error
			if f.Keys, err = e.o.Store.TagKeys(ctx, 0, storage.MaxTime); err != nil {
				return nil, err
			}
		}
		if !slices.ContainsFunc(keys[key], isAny) {
			f.Values = keys[key]
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func isAny(name string) bool { return name == "" || name == "*" }

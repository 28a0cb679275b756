package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// A Request is a request of /api/query: a body of JSON or, without one, the parameters of a URL. It has absolute times, so that
// both servers answer it about the same time.
type Request struct {
	Body       []byte
	Parameters string
}

// String prints a line from which ParseLine reads the request.
func (r Request) String() string {
	if r.Body != nil {
		return string(r.Body)
	}
	return "/api/query?" + r.Parameters
}

// Times are how the times of requests are made absolute.
type Times struct {
	Now    time.Time
	Newest time.Duration // points that are younger are not asked for
}

// Why a line is no request.
var (
	// ErrOther is a line without a query: other requests of an access log, comments, empty lines.
	ErrOther = errors.New("it has no request of /api/query")
	// ErrFuture is a query of which nothing is old enough to be asked for.
	ErrFuture = errors.New("all that it asks for is too young")
	errDelete = errors.New("it deletes what it asks for")
)

// endpoint is what a query by URL has in it.
const endpoint = "/api/query?"

// ParseLine reads a request in JSON, or a URL with the parameters of one, which may stand in a line of an access log. What only describes an
// answer (statistics, the echo of the query) is left out of the request. A query that deletes is an error.
func ParseLine(line string, t Times) (Request, error) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "{") {
		return parseBody([]byte(line), t)
	}
	_, parameters, ok := strings.Cut(line, endpoint)
	if !ok || strings.HasPrefix(line, "#") {
		return Request{}, ErrOther
	}
	if end := strings.IndexAny(parameters, " \t\"'"); end >= 0 {
		parameters = parameters[:end]
	}
	return parseParameters(parameters, t)
}

func parseBody(line []byte, t Times) (r Request, err error) {
	standard, err := jackson.Standard(line) // what both servers read
	if err != nil {
		return r, err
	}
	var body map[string]any
	d := json.NewDecoder(bytes.NewReader(standard))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		return r, err
	}
	if parsed, err := query.ParseJSON(line); err == nil && parsed.Delete {
		return r, errDelete
	}
	for name := range body {
		if slices.Contains([]string{"delete", "showstats", "showsummary", "showquery"}, strings.ToLower(name)) {
			delete(body, name)
		}
	}
	if _, ok := body["queries"]; !ok {
		return r, ErrOther
	}
	zone := time.UTC
	if name, ok := body["timezone"].(string); ok {
		if zone, err = query.ParseZone(name); err != nil {
			return r, err
		}
	}
	start, end, err := t.absolute(text(body["start"]), text(body["end"]), zone)
	if err != nil {
		return r, err
	}
	body["start"], body["end"] = start, end
	r.Body, err = json.Marshal(body)
	return r, err
}

// text is a time in JSON, which may be a number.
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// asked are the parameters that ask for something; a TSD also has some that change things.
func asked() []string {
	return []string{"start", "end", "m", "tsuid", "ms", "arrays", "padding", "no_annotations", "global_annotations", "show_tsuids", "exp"}
}

func parseParameters(text string, t Times) (r Request, err error) {
	all, err := url.ParseQuery(httpapi.Separated(text))
	if err != nil {
		return r, err
	}
	if all.Has("delete") || strings.EqualFold(all.Get("method_override"), "delete") {
		return r, errDelete
	}
	v := url.Values{}
	for _, name := range asked() {
		if values, ok := all[name]; ok {
			v[name] = values
		}
	}
	if !v.Has("m") && !v.Has("tsuid") && !v.Has("exp") {
		return r, ErrOther
	}
	start, end, err := t.absolute(v.Get("start"), v.Get("end"), time.UTC)
	if err != nil {
		return r, err
	}
	v.Set("start", strconv.FormatInt(start, 10))
	v.Set("end", strconv.FormatInt(end, 10))
	return Request{Parameters: v.Encode()}, nil
}

// absolute returns times in milliseconds. Those of a request that is wrong by itself are refused here, too.
func (t Times) absolute(start, end string, zone *time.Location) (from, to int64, err error) {
	if from, err = query.ParseTime(start, zone, t.Now); err != nil {
		return 0, 0, err
	}
	to = t.Now.UnixMilli()
	if end != "" {
		if to, err = query.ParseTime(end, zone, t.Now); err != nil {
			return 0, 0, err
		}
	}
	if to = min(to, t.Now.Add(-t.Newest).UnixMilli()); to <= from {
		return 0, 0, ErrFuture
	}
	if from < 1e10 {
		from = 1e10 // what is smaller a TSD reads as seconds
	}
	return from, to, nil
}

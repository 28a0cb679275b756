package queries

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/graph"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// ServeOld answers /q: as text with a point in each line, as a picture, or with what a picture would show.
func (a *API) ServeOld(w http.ResponseWriter, r *httpapi.Request) error {
	v := r.URL.Query()
	if !v.Has("ascii") && !v.Has("json") && !v.Has("png") {
		// A TSD sends browsers to its own page.
		return httpapi.WriteOldError(w, http.StatusBadRequest, "Ask for one of ascii, json and png")
	}
	begin := time.Now()
	share, err := a.oldAnswer(r, v)
	if err != nil {
		return httpapi.WriteOldError(w, evaluation.StatusOf(err).Status, err.Error())
	}
	defer share.Release()
	answer, _ := share.Answer.(*tsdquery.Answer)
	_, encoding := tracing.Start(r.Context(), "encode")
	defer encoding.End(nil)
	switch {
	case v.Has("ascii"):
		w.Header().Set("Content-Type", "text/plain")
		out := bufio.NewWriter(w)
		answer.WriteLines(out)
		_ = out.Flush() // a client that is gone loses the answer
		return nil
	case v.Has("json"):
		return httpapi.WriteOld(w, r, plotted(answer, time.Since(begin)))
	}
	picture, err := a.picture(r, v, answer)
	if err != nil {
		return httpapi.WriteOldError(w, evaluation.StatusOf(err).Status, err.Error())
	}
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(picture)
	return nil
}

func (a *API) oldAnswer(r *httpapi.Request, v url.Values) (*singleflight.Share[io.WriterTo], error) {
	_, parsing := tracing.Start(r.Context(), "parse")
	parsed, err := tsdquery.ParseParameters(v, nil)
	parsing.End(err)
	if err != nil {
		return nil, err
	}
	if err := a.checkOld(parsed, v); err != nil {
		return nil, err
	}
	if n := len(v["o"]); n > 0 && n != len(v["m"]) {
		return nil, tsdquery.RequestError{Message: fmt.Sprintf("%d `o' parameters, but %d `m' parameters.", n, len(v["m"]))}
	}
	return a.shared(r, a.groups, question{text: r.URL.RawQuery, key: "q " + r.ParametersKey(), compute: func(ctx context.Context) (io.WriterTo, error) {
		return a.answerNow(ctx, parsed)
	}})
}

// checkOld is check for a request whose dates, and they alone, are in the zone of a parameter.
func (a *API) checkOld(parsed *tsdquery.Request, v url.Values) error {
	zone, err := a.oldZone(v)
	if err != nil && (tsdquery.IsDate(parsed.Start) || tsdquery.IsDate(parsed.End)) {
		return tsdquery.RequestError{Message: "Invalid timezone name: " + v.Get("tz")}
	}
	parsed.DefaultZone = zone
	return parsed.Check(a.o.Now())
}

// oldZone is the zone of tz; without one, and with one that is unknown, that of the server.
func (a *API) oldZone(v url.Values) (*time.Location, error) {
	if v.Get("tz") == "" {
		return a.o.TimeZone, nil
	}
	zone, err := tsdquery.ParseZone(v.Get("tz"))
	if err != nil {
		return a.o.TimeZone, err
	}
	return zone, nil
}

// plotted describes what a picture shows, as a TSD does in addition to the picture.
func plotted(answer *tsdquery.Answer, took time.Duration) any {
	points, etags := 0, [][]string{}
	for i := range answer.Groups {
		g := &answer.Groups[i]
		points += g.Points.Len()
		etags = append(etags, g.AggregatedTags)
	}
	if len(etags) == 0 {
		etags = append(etags, []string{})
	}
	return map[string]any{"plotted": points, "points": points, "etags": etags, "timing": took.Milliseconds()}
}

// picture draws an answer, in the turn and the memory of a query.
func (a *API) picture(r *httpapi.Request, v url.Values, answer *tsdquery.Answer) (image []byte, err error) {
	o, err := graph.ParseOptions(v)
	if err != nil {
		return nil, tsdquery.RequestError{Message: err.Error()}
	}
	o.Zone, _ = a.oldZone(v)
	if err := query.AccountOf(r.Context()).Take(int64(o.Width*o.Height) * graph.PixelBytes); err != nil {
		return nil, err
	}
	turn, err := a.evaluator.Turn(r.Context())
	if err != nil {
		return nil, err
	}
	defer turn.End()
	start, end := answer.Request.Times()
	return o.PNG(start, end, linesOf(answer, v["o"]))
}

// linesOf are the series of an answer. options has gnuplot's words for each sub query, of which the axis on the
// right is known.
func linesOf(answer *tsdquery.Answer, options []string) []graph.Series {
	lines := make([]graph.Series, 0, len(answer.Groups))
	for i := range answer.Groups {
		g := &answer.Groups[i]
		var name strings.Builder
		name.WriteString(g.Metric)
		for n, tag := range g.Tags {
			name.WriteString([]string{"{", ", "}[min(n, 1)] + tag.Key + "=" + tag.Value)
		}
		if len(g.Tags) > 0 {
			name.WriteString("}")
		}
		line := graph.Series{Name: name.String(), Times: g.Points.Times, Values: g.Points.Values}
		if q := g.Index(); q < len(options) {
			line.Right = strings.Contains(options[q], "x1y2")
		}
		lines = append(lines, line)
	}
	return lines
}

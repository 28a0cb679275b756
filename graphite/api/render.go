package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/draw"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/formats"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// renderRequest is what a render request asks for.
type renderRequest struct {
	targets []string
	request call.Request
	// most is maxDataPoints, -1 without.
	most    int
	noNulls bool
	call    string // see reply
	pretty  bool
}

// renderer evaluates targets.
type renderer struct {
	evaluator   *eval.Evaluator
	sources     *source.Sources
	events      *events.Events
	replies     *singleflight.Replies[*exchange.Reply]
	metrics     *apiMetrics
	running     *query.Registry // nil: none
	limits      Limits
	utf8Metrics bool
	location    *time.Location
	templates   draw.Templates
	now         func() time.Time
}

// render answers /render. As in graphite-web, what is no other format is a picture.
func (a *renderer) render(r *exchange.Request) (*exchange.Reply, error) {
	if r.Params.AsksProtobuf() {
		return a.fetch(r)
	}
	d, err := a.renderRequest(r.Params)
	if err != nil {
		return nil, err
	}
	return a.listed(r, d.targets, func(ctx context.Context) (*exchange.Reply, error) {
		out, err := a.shared(ctx, renderKey(r.Params), func(ctx context.Context) (*exchange.Reply, error) { return a.renderedNow(ctx, r.Params) })
		if err == nil && out.Callable {
			out.JSONP = d.call
		}
		return out, err
	})
}

// renderedNow answers with the times that the parameters mean now.
func (a *renderer) renderedNow(ctx context.Context, f exchange.Form) (*exchange.Reply, error) {
	d, err := a.renderRequest(f)
	if err != nil {
		return nil, err
	}
	return a.rendered(ctx, f, d)
}

// rendered computes series, and draws them if a picture is asked for.
func (a *renderer) rendered(ctx context.Context, f exchange.Form, d *renderRequest) (*exchange.Reply, error) {
	if f.Get("graphType") == "pie" {
		return a.pie(ctx, f, d)
	}
	if asksPicture(f) {
		return a.picture(ctx, f, d)
	}
	list, err := a.evaluated(ctx, d)
	if err != nil {
		return nil, err
	}
	if other, known := formats.All()[formatOf(f)]; known {
		return d.formatted(other, list)
	}
	if list, err = d.consolidated(list); err != nil {
		return nil, d.explain(err)
	}
	return &exchange.Reply{
		ContentType: pyjson.ContentType, Header: neverCached(), Callable: true, Pretty: d.pretty,
		Write: func(j *pyjson.Writer) { d.write(j, list) },
	}, nil
}

// listed computes an answer as a query that is listed and can be ended by its id.
func (a *renderer) listed(r *exchange.Request, targets []string, compute func(ctx context.Context) (*exchange.Reply, error)) (*exchange.Reply, error) {
	text := python.Excerpt(strings.Join(targets, " "), mostShown)
	ctx, q := a.running.Begin(r.Context(), query.Description{Language: "graphite", Text: text, Client: r.RemoteAddr})
	defer q.End()
	out, err := compute(ctx)
	if err != nil && errors.Is(context.Cause(ctx), query.ErrEnded) {
		return nil, exchange.Refuse(exchange.StatusClientClosed, "%v", query.ErrEnded)
	}
	return out, err
}

// evaluated computes the series of all targets.
func (a *renderer) evaluated(ctx context.Context, d *renderRequest) ([]*series.Series, error) {
	_, parsing := tracing.Start(ctx, "parse")
	nodes, err := a.parseTargets(ctx, d)
	parsing.End(err)
	if err != nil {
		return nil, err
	}
	lists, err := a.evaluatedEach(ctx, d, nodes)
	return slices.Concat(lists...), err
}

// evaluatedEach computes the series of parsed targets, with a list for each.
func (a *renderer) evaluatedEach(ctx context.Context, d *renderRequest, nodes []expr.Node) ([][]*series.Series, error) {
	source := &countedSource{Source: a.sources.Open(), metrics: a.metrics, events: a.events, mostEvents: a.limits.Series}
	ctx, evaluating := tracing.Start(ctx, "evaluate")
	lists, err := a.evaluator.EvalEach(ctx, nodes, d.request, source)
	evaluating.End(err)
	if err != nil {
		return nil, d.explain(err)
	}
	return lists, nil
}

// mostShown is how much of the targets a list of queries shows, in bytes.
const mostShown = 4 << 10

// renderRequest reads the parameters in the order of parseOptions in graphite-web's
// render/views.py.
func (a *renderer) renderRequest(f exchange.Form) (*renderRequest, error) {
	if t := f.Get("graphType"); f.Has("graphType") && t != "line" && t != "pie" {
		return nil, exchange.InvalidParams("Invalid graphType %s, must be one of ['line', 'pie']", exchange.Quoted(t))
	}
	if f.Has("cacheTimeout") {
		if _, err := exchange.PythonInt(f.Get("cacheTimeout")); err != nil {
			return nil, err
		}
	}
	d := &renderRequest{targets: targetsOf(f), most: -1, noNulls: f.Has("noNullPoints"), pretty: f.Pretty()}
	if n, err := strconv.ParseUint(f.Get("maxDataPoints"), 10, 63); err == nil {
		d.most = int(n)
	}
	if d.most == 0 && formatOf(f) == "json" { // the others do not look at it
		return nil, exchange.InvalidParams("maxDataPoints must be above 0")
	}
	var err error
	if d.request, err = a.window(f); err != nil {
		return nil, err
	}
	if d.request.Template = templateValues(f); len(d.request.Template) > mostTemplateValues {
		return nil, exchange.InvalidParams("more than %d template values", mostTemplateValues)
	}
	if d.request.XFilesFactor, err = xFilesFactor(f); err != nil {
		return nil, err
	}
	d.call, err = f.JSONP()
	return d, err
}

// window reads the times of a render request.
func (a *renderer) window(f exchange.Form) (call.Request, error) {
	clock := a.now()
	zone := f.Zone(a.location)
	now, err := f.Time("now", "now", zone, clock)
	if err != nil {
		return call.Request{}, exchange.InvalidParams("%v", err)
	}
	until, err := f.Time("until", "now", zone, now)
	if err != nil {
		return call.Request{}, exchange.InvalidParams("%v", err)
	}
	from, err := f.Time("from", "-1d", zone, now)
	if err != nil {
		return call.Request{}, exchange.InvalidParams("%v", err)
	}
	if from.Equal(until) {
		return call.Request{}, exchange.InvalidParams("Invalid empty time range")
	}
	return a.between(min(from.Unix(), until.Unix()), max(from.Unix(), until.Unix()), now, zone, clock), nil
}

// between returns what is asked for between two times, in epoch seconds.
func (a *renderer) between(from, until int64, now time.Time, zone *time.Location, clock time.Time) call.Request {
	return call.Request{
		UTF8Metrics: a.utf8Metrics, From: from, Until: until, Now: now.Unix(), Clock: clock.Unix(),
		Zone: zone, Local: a.location, Limits: call.Limits{Series: a.limits.Series, Points: a.limits.Points},
	}
}

// templateValues returns the parameters template[NAME].
func templateValues(f exchange.Form) map[string]string {
	values := map[string]string{}
	for key := range f {
		if name, ok := strings.CutPrefix(key, "template["); ok && name != "" {
			values[name[:len(name)-1]] = f.Get(key)
		}
	}
	return values
}

func xFilesFactor(f exchange.Form) (float64, error) {
	if !f.Has("xFilesFactor") {
		return 0, nil
	}
	x, ok := python.ParseFloat(f.Get("xFilesFactor"))
	if !ok {
		return 0, exchange.InvalidParams("could not convert string to float: %s", exchange.Quoted(f.Get("xFilesFactor")))
	}
	return x, nil
}

// parseBytes is the memory that each byte of a target takes while it is parsed, and then as a tree.
const parseBytes = 128

// mostTemplateValues bounds the parameters template[NAME]: each is put into each path.
const mostTemplateValues = 1000

func (a *renderer) parseTargets(ctx context.Context, d *renderRequest) ([]expr.Node, error) {
	if err := a.checkTargets(d); err != nil {
		return nil, err
	}
	return a.parseEach(ctx, d, func(n expr.Node, err error, text string) (expr.Node, error) {
		if err != nil {
			return nil, &python.InputError{Reason: err.Error(), Target: python.Excerpt(text, python.MaxExcerpt)}
		}
		return n, nil
	})
}

// checkTargets keeps the limit on how many are computed.
func (a *renderer) checkTargets(d *renderRequest) error {
	if most := a.limits.Targets; most > 0 && len(d.targets) > most {
		return exchange.Refuse(http.StatusUnprocessableEntity, "%d targets, at most %d are computed in one request", len(d.targets), most)
	}
	return nil
}

// parseEach parses targets; choose decides what each is, or why none.
func (a *renderer) parseEach(ctx context.Context, d *renderRequest, choose func(n expr.Node, err error, text string) (expr.Node, error)) ([]expr.Node, error) {
	nodes := make([]expr.Node, len(d.targets))
	for i, text := range d.targets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := query.AccountOf(ctx).Take(parseBytes * int64(min(len(text), expr.MaxTarget))); err != nil {
			return nil, err
		}
		n, err := expr.Parser{UTF8Metrics: a.utf8Metrics}.Parse(text)
		if nodes[i], err = choose(n, err, text); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// explain names the targets that an error is about.
func (d *renderRequest) explain(err error) error {
	if exchange.StatusOf(err) != http.StatusBadRequest {
		return err
	}
	targets := python.Excerpt(strings.Join(d.targets, ", "), python.MaxExcerpt)
	if bad, ok := exchange.AsInputError(err); ok {
		named := *bad
		if named.Target == "" {
			named.Target = targets
		}
		return &named
	}
	return &python.InputError{Reason: err.Error(), Target: targets}
}

// consolidated returns the part of the series that is shown.
func (d *renderRequest) consolidated(list []*series.Series) ([]*series.Series, error) {
	if !slices.ContainsFunc(list, func(s *series.Series) bool { return len(s.Values) > 0 }) {
		return nil, nil // graphite-web's any(data)
	}
	if d.most > 0 {
		if err := series.Consolidate(list, d.most); err != nil {
			return nil, fmt.Errorf("maxDataPoints: %w", err)
		}
	}
	if d.noNulls {
		list = slices.DeleteFunc(list, func(s *series.Series) bool {
			for _, v := range s.Points() {
				if !math.IsNaN(v) {
					return false
				}
			}
			return true
		})
	}
	return list, nil
}

func (d *renderRequest) write(j *pyjson.Writer, list []*series.Series) {
	pyjson.Array(j, list, func(s *series.Series) {
		j.Open('{')
		j.Key("target")
		formats.WriteName(j, s)
		j.Key("tags")
		formats.WriteTags(j, s.Tags)
		j.Key("datapoints")
		d.points(j, s)
		j.Shut('}')
	})
}

// countedSource counts what is read.
type countedSource struct {
	eval.Source
	metrics    *apiMetrics
	events     *events.Events
	mostEvents int
}

func (s *countedSource) Fetch(ctx context.Context, list []eval.Fetch) ([][]*series.Series, error) {
	out, err := s.Source.Fetch(ctx, list)
	for _, found := range out {
		s.metrics.series.Add(float64(len(found)))
		points := 0
		for _, series := range found {
			points += len(series.Values)
		}
		s.metrics.points.Add(float64(points))
	}
	return out, err
}

package graphite

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

	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// renderRequest is what a render request asks for.
type renderRequest struct {
	targets []string
	request eval.Request
	// most is maxDataPoints, -1 without.
	most    int
	noNulls bool
	call    string // see reply
	pretty  bool
}

// render answers /render. As in graphite-web, what is no other format is a picture.
func (a *api) render(r *request) (*reply, error) {
	if r.form.asksProtobuf() {
		return a.fetch(r)
	}
	d, err := a.renderRequest(r.form)
	if err != nil {
		return nil, err
	}
	return a.listed(r, d.targets, func(ctx context.Context) (*reply, error) {
		out, err := a.shared(ctx, r.form.renderKey(), func(ctx context.Context) (*reply, error) { return a.renderedNow(ctx, r.form) })
		if err == nil && out.callable {
			out.call = d.call
		}
		return out, err
	})
}

// renderedNow answers with the times that the parameters mean now.
func (a *api) renderedNow(ctx context.Context, f form) (*reply, error) {
	d, err := a.renderRequest(f)
	if err != nil {
		return nil, err
	}
	return a.rendered(ctx, f, d)
}

// rendered computes series, and draws them if a picture is asked for.
func (a *api) rendered(ctx context.Context, f form, d *renderRequest) (*reply, error) {
	if f.get("graphType") == "pie" {
		return a.pie(ctx, f, d)
	}
	if f.asksPicture() {
		return a.picture(ctx, f, d)
	}
	list, err := a.evaluated(ctx, d)
	if err != nil {
		return nil, err
	}
	if other, known := renderFormats()[formatOf(f)]; known {
		return d.formatted(other, list)
	}
	if list, err = d.consolidated(list); err != nil {
		return nil, d.explain(err)
	}
	return &reply{
		contentType: jsonType, header: neverCached(), callable: true, pretty: d.pretty,
		write: func(j *jsonWriter) { d.write(j, list) },
	}, nil
}

// listed computes an answer as a query that is listed and can be ended by its id.
func (a *api) listed(r *request, targets []string, compute func(ctx context.Context) (*reply, error)) (*reply, error) {
	text := eval.Excerpt(strings.Join(targets, " "), mostShown)
	ctx, q := a.o.Running.Begin(r.Context(), query.Description{Language: "graphite", Text: text, Client: r.RemoteAddr})
	defer q.End()
	out, err := compute(ctx)
	if err != nil && errors.Is(context.Cause(ctx), query.ErrEnded) {
		return nil, refuse(statusClientClosed, "%v", query.ErrEnded)
	}
	return out, err
}

// evaluated computes the series of all targets.
func (a *api) evaluated(ctx context.Context, d *renderRequest) ([]*eval.Series, error) {
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
func (a *api) evaluatedEach(ctx context.Context, d *renderRequest, nodes []expr.Node) ([][]*eval.Series, error) {
	source := &countedSource{Source: a.sources.Open(), metrics: a.metrics, events: a.o.Events, mostEvents: a.o.Limits.Series}
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
func (a *api) renderRequest(f form) (*renderRequest, error) {
	if t := f.get("graphType"); f.has("graphType") && t != "line" && t != "pie" {
		return nil, invalidParams("Invalid graphType %s, must be one of ['line', 'pie']", quoted(t))
	}
	if f.has("cacheTimeout") {
		if _, err := pythonInt(f.get("cacheTimeout")); err != nil {
			return nil, err
		}
	}
	d := &renderRequest{targets: f.targets(), most: -1, noNulls: f.has("noNullPoints"), pretty: f.pretty()}
	if n, err := strconv.ParseUint(f.get("maxDataPoints"), 10, 63); err == nil {
		d.most = int(n)
	}
	if d.most == 0 && formatOf(f) == "json" { // the others do not look at it
		return nil, invalidParams("maxDataPoints must be above 0")
	}
	var err error
	if d.request, err = a.window(f); err != nil {
		return nil, err
	}
	if d.request.Template = templateValues(f); len(d.request.Template) > mostTemplateValues {
		return nil, invalidParams("more than %d template values", mostTemplateValues)
	}
	if d.request.XFilesFactor, err = xFilesFactor(f); err != nil {
		return nil, err
	}
	d.call, err = f.call()
	return d, err
}

// window reads the times of a render request.
func (a *api) window(f form) (eval.Request, error) {
	clock := a.o.Now()
	zone := f.zone(a.o.Location)
	now, err := f.at("now", "now", zone, clock)
	if err != nil {
		return eval.Request{}, invalidParams("%v", err)
	}
	until, err := f.at("until", "now", zone, now)
	if err != nil {
		return eval.Request{}, invalidParams("%v", err)
	}
	from, err := f.at("from", "-1d", zone, now)
	if err != nil {
		return eval.Request{}, invalidParams("%v", err)
	}
	if from.Equal(until) {
		return eval.Request{}, invalidParams("Invalid empty time range")
	}
	return a.between(min(from.Unix(), until.Unix()), max(from.Unix(), until.Unix()), now, zone, clock), nil
}

// between returns what is asked for between two times, in epoch seconds.
func (a *api) between(from, until int64, now time.Time, zone *time.Location, clock time.Time) eval.Request {
	return eval.Request{
		UTF8Metrics: a.o.UTF8Metrics, From: from, Until: until, Now: now.Unix(), Clock: clock.Unix(),
		Zone: zone, Local: a.o.Location, Limits: eval.Limits{Series: a.o.Limits.Series, Points: a.o.Limits.Points},
	}
}

// templateValues returns the parameters template[NAME].
func templateValues(f form) map[string]string {
	values := map[string]string{}
	for key := range f {
		if name, ok := strings.CutPrefix(key, "template["); ok && name != "" {
			values[name[:len(name)-1]] = f.get(key)
		}
	}
	return values
}

func xFilesFactor(f form) (float64, error) {
	if !f.has("xFilesFactor") {
		return 0, nil
	}
	x, ok := eval.ParseFloat(f.get("xFilesFactor"))
	if !ok {
		return 0, invalidParams("could not convert string to float: %s", quoted(f.get("xFilesFactor")))
	}
	return x, nil
}

// parseBytes is the memory that each byte of a target takes while it is parsed, and then as a tree.
const parseBytes = 128

// mostTemplateValues bounds the parameters template[NAME]: each is put into each path.
const mostTemplateValues = 1000

func (a *api) parseTargets(ctx context.Context, d *renderRequest) ([]expr.Node, error) {
	if err := a.checkTargets(d); err != nil {
		return nil, err
	}
	return a.parseEach(ctx, d, func(n expr.Node, err error, text string) (expr.Node, error) {
		if err != nil {
			return nil, &eval.InputError{Reason: err.Error(), Target: eval.Excerpt(text, eval.MaxExcerpt)}
		}
		return n, nil
	})
}

// checkTargets keeps the limit on how many are computed.
func (a *api) checkTargets(d *renderRequest) error {
	if most := a.o.Limits.Targets; most > 0 && len(d.targets) > most {
		return refuse(http.StatusUnprocessableEntity, "%d targets, at most %d are computed in one request", len(d.targets), most)
	}
	return nil
}

// parseEach parses targets; choose decides what each is, or why none.
func (a *api) parseEach(ctx context.Context, d *renderRequest, choose func(n expr.Node, err error, text string) (expr.Node, error)) ([]expr.Node, error) {
	nodes := make([]expr.Node, len(d.targets))
	for i, text := range d.targets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := query.AccountOf(ctx).Take(parseBytes * int64(min(len(text), expr.MaxTarget))); err != nil {
			return nil, err
		}
		n, err := expr.Parser{UTF8Metrics: a.o.UTF8Metrics}.Parse(text)
		if nodes[i], err = choose(n, err, text); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// explain names the targets that an error is about.
func (d *renderRequest) explain(err error) error {
	if statusOf(err) != http.StatusBadRequest {
		return err
	}
	targets := eval.Excerpt(strings.Join(d.targets, ", "), eval.MaxExcerpt)
	if bad, ok := inputError(err); ok {
		named := *bad
		if named.Target == "" {
			named.Target = targets
		}
		return &named
	}
	return &eval.InputError{Reason: err.Error(), Target: targets}
}

// consolidated returns the part of the series that is shown.
func (d *renderRequest) consolidated(list []*eval.Series) ([]*eval.Series, error) {
	if !slices.ContainsFunc(list, func(s *eval.Series) bool { return len(s.Values) > 0 }) {
		return nil, nil // graphite-web's any(data)
	}
	if d.most > 0 {
		if err := eval.Consolidate(list, d.most); err != nil {
			return nil, fmt.Errorf("maxDataPoints: %w", err)
		}
	}
	if d.noNulls {
		list = slices.DeleteFunc(list, func(s *eval.Series) bool {
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

func (d *renderRequest) write(j *jsonWriter, list []*eval.Series) {
	array(j, list, func(s *eval.Series) {
		j.open('{')
		j.key("target")
		writeName(j, s)
		j.key("tags")
		writeTags(j, s.Tags)
		j.key("datapoints")
		d.points(j, s)
		j.shut('}')
	})
}

// writeName writes the name of a series; null for one without.
func writeName(j *jsonWriter, s *eval.Series) {
	if s.Unnamed {
		j.word("null")
	} else {
		j.string(s.Name)
	}
}

func writeTags(j *jsonWriter, tags map[string]string) {
	keys := make([]string, 0, len(tags))
	for k := range tags {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	j.open('{')
	for _, k := range keys {
		j.key(k)
		j.string(tags[k])
	}
	j.shut('}')
}

// countedSource counts what is read.
type countedSource struct {
	eval.Source
	metrics    *apiMetrics
	events     *events.Events
	mostEvents int
}

func (s *countedSource) Fetch(ctx context.Context, list []eval.Fetch) ([][]*eval.Series, error) {
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

package api

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/draw"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/formats"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// pictureTypes are the content types of pictures, by format.
func pictureTypes() map[string]string {
	return map[string]string{"png": "image/png", "svg": "image/svg+xml", "pdf": "application/x-pdf"}
}

// picture answers with lines over time.
func (a *renderer) picture(ctx context.Context, f exchange.Form, d *renderRequest) (*exchange.Reply, error) {
	options, err := a.pictureOptions(f, d, false)
	if err != nil {
		return nil, err
	}
	list, err := a.evaluated(ctx, d)
	if err != nil {
		return nil, err
	}
	series := make([]draw.Series, len(list))
	for i, s := range list {
		series[i] = drawnSeries(s)
	}
	ctx, drawing := tracing.Start(ctx, "draw")
	body, err := draw.Draw(ctx, options, series)
	drawing.End(err)
	return d.drawn(options, body, err)
}

// pie answers with slices of a circle: an aggregate of each series, or a number for targets such as
// name:10.
func (a *renderer) pie(ctx context.Context, f exchange.Form, d *renderRequest) (*exchange.Reply, error) {
	options, err := a.pictureOptions(f, d, true)
	if err != nil {
		return nil, err
	}
	mode := "average"
	if f.Has("pieMode") {
		mode = f.Get("pieMode")
	}
	if !slices.Contains([]string{"average", "maximum", "minimum"}, mode) {
		return nil, exchange.InvalidParams("Invalid pieMode %s, must be one of average, maximum, minimum", exchange.Quoted(mode))
	}
	parts, err := a.slices(ctx, d, mode)
	if err != nil {
		return nil, err
	}
	ctx, drawing := tracing.Start(ctx, "draw")
	body, err := draw.DrawPie(ctx, options, parts)
	drawing.End(err)
	return d.drawn(options, body, err)
}

// slices returns those of all targets. Equal targets are evaluated once.
func (a *renderer) slices(ctx context.Context, d *renderRequest, mode string) (all []draw.Slice, err error) {
	if err := a.checkTargets(d); err != nil {
		return nil, err
	}
	evaluated := map[string][]draw.Slice{}
	for _, target := range d.targets {
		of, again := evaluated[target]
		if !again {
			if of, err = a.slicesOf(ctx, d, target, mode); err != nil {
				return nil, err
			}
		}
		if !eval.Varies(target) {
			evaluated[target] = of
		}
		all = append(all, of...)
	}
	return all, nil
}

// slicesOf returns those of a target.
func (a *renderer) slicesOf(ctx context.Context, d *renderRequest, target, mode string) (list []draw.Slice, err error) {
	if name, number, ok := strings.Cut(target, ":"); ok {
		v, ok := python.ParseFloat(number)
		if !ok {
			return nil, exchange.InvalidParams("Invalid target %s", exchange.Quoted(target))
		}
		return []draw.Slice{{Name: name, Value: v}}, nil
	}
	one := *d
	one.targets = []string{target}
	series, err := a.evaluated(ctx, &one)
	for _, s := range series {
		list = append(list, draw.Slice{Name: formats.TextName(s), Value: sliceValue(s.Values, mode)})
	}
	return list, err
}

// sliceValue joins the points of a series to one; 0 without any.
func sliceValue(values []float64, mode string) float64 {
	n, sum, least, most := 0, 0.0, math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !python.IsNone(v) {
			n++
			sum += v
			least, most = min(least, v), max(most, v)
		}
	}
	switch {
	case n == 0:
		return 0
	case mode == "maximum":
		return most
	case mode == "minimum":
		return least
	}
	return sum / float64(n)
}

// pictureOptions reads what the request says about the look of its picture.
func (a *renderer) pictureOptions(f exchange.Form, d *renderRequest, pie bool) (*draw.Options, error) {
	get := func(name string) (string, bool) { return f.Get(name), f.Has(name) }
	options, err := draw.Parse(get, pie, a.templates, d.request.Zone)
	if err != nil {
		return nil, exchange.InvalidParams("%v", err)
	}
	if format := f.Get("format"); !f.Has("outputFormat") && pictureTypes()[format] != "" {
		options.Format = format
	}
	return options, nil
}

// drawn is the answer with a picture. SVG may be the argument of a call, as a string.
func (d *renderRequest) drawn(options *draw.Options, body []byte, err error) (*exchange.Reply, error) {
	var bad *draw.InvalidError
	switch {
	case errors.As(err, &bad):
		return nil, exchange.InvalidParams("%s", bad.Reason)
	case err != nil:
		return nil, d.explain(err)
	case options.Format == "svg" && d.call != "":
		return &exchange.Reply{ContentType: pyjson.ContentType, Header: neverCached(), JSONP: d.call, Write: func(j *pyjson.Writer) { j.String(string(body)) }}, nil
	}
	return &exchange.Reply{ContentType: pictureTypes()[options.Format], Header: neverCached(), Write: func(j *pyjson.Writer) { j.Bytes(body) }}, nil
}

// drawnSeries is a series as pictures take it.
func drawnSeries(s *series.Series) draw.Series {
	name := s.Name
	if s.Unnamed {
		name = ""
	}
	return draw.Series{Name: name, Start: s.Start, End: s.End, Step: s.Step, Values: s.Values, Join: s.Joined, Style: styleOf(s.Options)}
}

// styleOf returns what functions such as color() said about a series.
func styleOf(options map[string]any) draw.Style {
	number := func(key string) (float64, bool) {
		switch v := options[key].(type) {
		case float64:
			return v, true
		case int64:
			return float64(v), true
		}
		return 0, false
	}
	is := func(key string) bool { _, ok := options[key]; return ok }
	style := draw.Style{Stacked: is("stacked"), Invisible: is("invisible"), Right: is("secondYAxis"), Infinite: is("drawAsInfinite")}
	style.Color, _ = options["color"].(string)
	style.Alpha, _ = number("alpha")
	style.Dash, _ = number("dashed")
	if width, ok := number("lineWidth"); ok {
		style.Width = &width
	}
	return style
}

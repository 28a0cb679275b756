package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/carbonapi"
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/formats"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// carbonapi and other servers in front of this one ask for series by protobuf messages, at the paths of /render and
// /metrics/find.

// fetch answers what /render is asked for by a message, or by parameters where there is none. maxDataPoints is left
// to who asks: carbonapi consolidates after it has applied its functions.
func (a *renderer) fetch(r *exchange.Request) (*exchange.Reply, error) {
	if len(r.Message) == 0 {
		d, err := a.renderRequest(r.Params)
		if err != nil {
			return nil, err
		}
		return a.listed(r, d.targets, func(ctx context.Context) (*exchange.Reply, error) {
			return a.shared(ctx, renderKey(r.Params), func(ctx context.Context) (*exchange.Reply, error) { return a.fetchTargets(ctx, r.Params) })
		})
	}
	asked, err := carbonapi.ParseFetches(r.Message)
	if err != nil {
		return nil, exchange.InvalidParams("the request is no MultiFetchRequest: %v", err)
	}
	names := make([]string, len(asked))
	for i := range asked {
		names[i] = cmp.Or(asked[i].Name, asked[i].Expression)
	}
	return a.listed(r, names, func(ctx context.Context) (*exchange.Reply, error) {
		return a.shared(ctx, "message "+string(r.Message), func(ctx context.Context) (*exchange.Reply, error) { return a.fetchNames(ctx, names, asked) })
	})
}

// fetchNames answers a message. Series of the same times are read together.
func (a *renderer) fetchNames(ctx context.Context, names []string, asked []carbonapi.Fetch) (*exchange.Reply, error) {
	now := a.now()
	var out []byte
	for len(asked) > 0 {
		f, same := asked[0], 1
		for same < len(asked) && asked[same].Start == f.Start && asked[same].Stop == f.Stop {
			same++
		}
		if f.Start >= f.Stop || f.Start < 0 || f.Stop > mostSeconds {
			return nil, exchange.InvalidParams("%s: invalid times from %d to %d", exchange.Quoted(names[0]), f.Start, f.Stop)
		}
		d := &renderRequest{targets: names[:same], most: -1, request: a.between(f.Start, f.Stop, now, a.location, now)}
		nodes, err := a.parseNames(ctx, d)
		if err != nil {
			return nil, err
		}
		if out, err = a.appendFetched(ctx, out, d, nodes, asked[:same]); err != nil {
			return nil, err
		}
		names, asked = names[same:], asked[same:]
	}
	return exchange.MessageReply(out, carbonapi.ContentType), nil
}

// fetchTargets answers parameters, with the times that they mean now.
func (a *renderer) fetchTargets(ctx context.Context, f exchange.Form) (*exchange.Reply, error) {
	d, err := a.renderRequest(f)
	if err != nil {
		return nil, err
	}
	nodes, err := a.parseTargets(ctx, d)
	if err != nil {
		return nil, err
	}
	asked := make([]carbonapi.Fetch, len(nodes))
	for i, target := range d.targets {
		asked[i] = carbonapi.Fetch{Name: target, Start: d.request.From, Stop: d.request.Until}
	}
	out, err := a.appendFetched(ctx, nil, d, nodes, asked)
	return exchange.MessageReply(out, carbonapi.ContentType), err
}

// appendFetched appends the series of targets to an answer.
func (a *renderer) appendFetched(ctx context.Context, out []byte, d *renderRequest, nodes []expr.Node, asked []carbonapi.Fetch) ([]byte, error) {
	lists, err := a.evaluatedEach(ctx, d, nodes)
	if err != nil {
		return nil, err
	}
	for i, list := range lists {
		if out, err = appendSeries(ctx, out, &asked[i], list); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parseNames parses what is asked for by messages: names of series, as they are, among the targets.
func (a *renderer) parseNames(ctx context.Context, d *renderRequest) ([]expr.Node, error) {
	return a.parseEach(ctx, d, func(n expr.Node, err error, name string) (expr.Node, error) {
		if p, ok := n.(*expr.Path); err != nil || ok && len(p.Text)+strings.Count(name, `\`) < len(name) {
			return &expr.Path{Text: name}, nil
		}
		return n, nil
	})
}

// mostSeconds is the last time of a row's key, in epoch seconds.
const mostSeconds = 1<<32 - 1

// appendSeries appends series to an answer.
func appendSeries(ctx context.Context, out []byte, q *carbonapi.Fetch, list []*series.Series) ([]byte, error) {
	for _, s := range list {
		one := carbonapi.Series{
			Name: formats.TextName(s), Expression: cmp.Or(q.Expression, q.Name), Consolidation: cmp.Or(s.ConsolidationFunc, "average"),
			Start: s.Start, XFilesFactor: s.XFilesFactor, AskedStart: q.Start, AskedStop: q.Stop,
		}
		last := s.Start
		for at, v := range s.Points() {
			if len(one.Values) == 1 {
				one.Step = at - s.Start
			}
			one.Values, last = append(one.Values, v), at
		}
		one.Step = cmp.Or(one.Step, s.Step)
		one.Stop = last + one.Step
		before := len(out)
		out = one.Append(out)
		if err := query.AccountOf(ctx).Take(int64(len(out) - before)); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// globs answers what /metrics/find is asked for by a message, or by parameters where there is none.
func (a *finder) globs(r *exchange.Request) (*exchange.Reply, error) {
	patterns, err := askedNames(r, "query")
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, p := range patterns {
		nodes, err := a.lookUp(r.Context(), p)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(nodes, func(a, b findNode) int { return cmp.Or(strings.Compare(a.path, b.path), compareLeaves(a.leaf, b.leaf)) })
		g := carbonapi.Glob{Pattern: p}
		for _, n := range nodes {
			g.Matches = append(g.Matches, carbonapi.Match{Path: n.path, Leaf: n.leaf})
		}
		out = g.Append(out)
	}
	return exchange.MessageReply(out, carbonapi.ContentType), nil
}

// askedNames returns the names of a MultiGlobRequest or, as it is the same, of a MultiMetricsInfoRequest. Without
// a message they are the values of a parameter.
func askedNames(r *exchange.Request, parameter string) ([]string, error) {
	if len(r.Message) == 0 {
		return r.Params[parameter], nil
	}
	names, err := carbonapi.ParseGlobs(r.Message)
	if err != nil {
		return nil, exchange.InvalidParams("the request is no MultiGlobRequest: %v", err)
	}
	return names, nil
}

// capabilities tells carbonapi which formats it may use.
func (a *API) capabilities(*exchange.Request) (*exchange.Reply, error) {
	return exchange.MessageReply(carbonapi.AppendCapabilities(nil, "tsdbridge"), carbonapi.ContentType), nil
}

package graphite

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/graphite/carbonapi"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
)

// carbonapi and other servers in front of this one ask for series by protobuf messages, at the paths of /render and
// /metrics/find.

// asksProtobuf reports whether the body of a request is such a message.
func (f form) asksProtobuf() bool { return f.get("format") == carbonapi.Format }

// fetch answers what /render is asked for by a message. Series are evaluated as targets; those of a question with
// maxDataPoints are consolidated.
func (a *api) fetch(r *request) (*reply, error) {
	asked, err := carbonapi.ParseFetches(r.body)
	if err != nil {
		return nil, invalidParams("the request is no MultiFetchRequest: %v", err)
	}
	targets := make([]string, len(asked))
	for i := range asked {
		targets[i] = cmp.Or(asked[i].Expression, asked[i].Name)
	}
	return a.listed(r, targets, func(ctx context.Context) (*reply, error) { return a.fetched(ctx, asked) })
}

func (a *api) fetched(ctx context.Context, asked []carbonapi.Fetch) (*reply, error) {
	var out []byte
	for i := range asked {
		q := &asked[i]
		d := &renderRequest{targets: []string{cmp.Or(q.Expression, q.Name)}, most: -1}
		if q.MaxDataPoints > 0 {
			d.most = int(q.MaxDataPoints)
		}
		if q.Start >= q.Stop || q.Start < 0 || q.Stop > mostSeconds {
			return nil, invalidParams("%s: invalid times from %d to %d", quoted(d.targets[0]), q.Start, q.Stop)
		}
		now := a.o.Now()
		d.request = a.between(q.Start, q.Stop, now, a.o.Location, now)
		list, err := a.evaluated(ctx, d)
		if err == nil {
			list, err = d.consolidated(list)
		}
		if err != nil {
			return nil, d.explain(err)
		}
		if out, err = appendSeries(ctx, out, q, list); err != nil {
			return nil, err
		}
	}
	return messageReply(out), nil
}

// mostSeconds is the last time of a row's key, in epoch seconds.
const mostSeconds = 1<<32 - 1

// appendSeries appends series to an answer.
func appendSeries(ctx context.Context, out []byte, q *carbonapi.Fetch, list []*eval.Series) ([]byte, error) {
	for _, s := range list {
		one := carbonapi.Series{
			Name: textName(s), Expression: cmp.Or(q.Expression, q.Name), Consolidation: cmp.Or(s.ConsolidationFunc, "average"),
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
		if err := budget.From(ctx).Take(int64(len(out) - before)); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// globs answers what /metrics/find is asked for by a message.
func (a *api) globs(r *request) (*reply, error) {
	patterns, err := carbonapi.ParseGlobs(r.body)
	if err != nil {
		return nil, invalidParams("the request is no MultiGlobRequest: %v", err)
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
	return messageReply(out), nil
}

// capabilities tells carbonapi which formats it may use.
func (a *api) capabilities(*request) (*reply, error) {
	return messageReply(carbonapi.AppendCapabilities(nil, "tsdbridge")), nil
}

func messageReply(message []byte) *reply {
	return &reply{contentType: carbonapi.ContentType, raw: true, write: func(j *jsonWriter) { j.buf = append(j.buf, message...) }}
}

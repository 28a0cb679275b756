package migrate

import (
	"context"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/session"
)

// copyReporters report the progress of a copy to the adapters that have its source and its target open.
type copyReporters []*admin.Reporter

// reportersOf returns those of the tables of adapters. They have one id, since a request has one.
func reportersOf(from, to session.Tables) (all copyReporters) {
	for _, r := range []*admin.Reporter{from.Reporter("copy from here"), to.Reporter("copy into here")} {
		if r == nil {
			continue
		}
		if len(all) > 0 {
			r.ID = all[0].ID
		}
		all = append(all, r)
	}
	return all
}

// with returns a context whose requests are those of the copy.
func (all copyReporters) with(ctx context.Context) context.Context {
	if len(all) == 0 {
		return ctx
	}
	return all[0].With(ctx)
}

func (all copyReporters) report(ctx context.Context, p admin.Progress) {
	for _, r := range all {
		r.Report(ctx, p)
	}
}

func (all copyReporters) end(ctx context.Context, p admin.Progress, err error) {
	for _, r := range all {
		r.End(ctx, p, err)
	}
}

package migrate

import (
	"context"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
)

// copyTellers tell the adapters of a copy, its source and its target, how far it is.
type copyTellers []*admin.Teller

// tellersOf returns those of the sides that are adapters. They have one id, since a request has one.
func tellersOf(from, to copySide) (all copyTellers) {
	add := func(side copySide, kind string) {
		r, ok := side.(admin.RemoteCopy)
		if !ok {
			return
		}
		t := admin.NewTeller(r.Base, kind)
		if len(all) > 0 {
			t.ID = all[0].ID
		}
		all = append(all, t)
	}
	add(from, "copy from here")
	add(to, "copy into here")
	return all
}

// with returns a context whose requests are those of the copy.
func (all copyTellers) with(ctx context.Context) context.Context {
	if len(all) == 0 {
		return ctx
	}
	return all[0].With(ctx)
}

func (all copyTellers) tell(ctx context.Context, told admin.Told) {
	for _, t := range all {
		t.Tell(ctx, told)
	}
}

func (all copyTellers) end(ctx context.Context, told admin.Told, err error) {
	for _, t := range all {
		t.End(ctx, told, err)
	}
}

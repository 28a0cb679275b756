package adapter

import (
	"context"
)

// copyTellers tell the adapters of a copy, its source and its target, how far it is.
type copyTellers []*transferTeller

// tellersOf returns those of the sides that are adapters. They have one id, since a request has one.
func tellersOf(from, to copySide) (all copyTellers) {
	add := func(side copySide, kind string) {
		r, ok := side.(remoteCopy)
		if !ok {
			return
		}
		t := newTransferTeller(r.Base, kind)
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
	return all[0].with(ctx)
}

func (all copyTellers) tell(ctx context.Context, told toldTransfer) {
	for _, t := range all {
		t.tell(ctx, told)
	}
}

func (all copyTellers) end(ctx context.Context, told toldTransfer, err error) {
	for _, t := range all {
		t.end(ctx, told, err)
	}
}

package migrate

import (
	"cmp"
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/session"
)

// An openedColumns is the source of an export, and what reports its progress.
type openedColumns struct {
	admin.Samples
	name     string          // for the state
	reporter *admin.Reporter // to the adapter that exports; nil: the tables are opened
}

// openColumns calls use with the source of an export: the tables, or the adapter that has them open.
func openColumns(ctx context.Context, o adapter.Options, url, kind string, use func(ctx context.Context, s openedColumns) error) error {
	return session.Place{Options: o, URL: url}.Read(ctx, func(ctx context.Context, t session.Tables) error {
		r := t.Reporter(kind)
		return use(r.With(ctx), openedColumns{t.Samples(), cmp.Or(t.AdapterURL(), t.Name()), r})
	})
}

// timeWindows are the windows of time that an export goes through, in milliseconds.
type timeWindows struct{ first, last, length int64 }

// newTimeWindows returns those from the first samples to the last ones, which are not known but by the end that is asked for, and by now.
func newTimeWindows(first, to, length int64, now time.Time) timeWindows {
	return timeWindows{first / length, max(first, min(to, now.UnixMilli())) / length, length}
}

// place returns which of how many windows the one is that begins at a time.
func (w timeWindows) place(begin int64) (nth, of int) {
	n := begin / w.length
	return int(n - w.first), int(max(w.last, n) - w.first + 1)
}

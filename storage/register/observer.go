package register

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/series"
)

// An Observer writes what belongs to a series in addition to its points: the rows of trees. Resolve
// calls it for series whose tsdb-meta row does not exist, each once a call, and writes that row
// afterwards: a process that finds it there finds the observer's rows too, and after a crash in
// between the next call for the series observes it again. Observe returns when its rows are in the
// tables; an error fails all series of the call, which their senders send again. It may be called
// for the same series by several at once, must not keep the slices, and must not call the store.
type Observer interface {
	Observe(ctx context.Context, series []series.NewSeries) error
	// Forget deletes what Observe wrote for series, which were deleted, durably. Series of which it
	// has nothing are no error. None of them is observed at the same time, but it may be afterwards.
	Forget(ctx context.Context, series []series.NewSeries) error
	// Forgotten drops what it keeps in memory of series for which another process called Forget.
	Forgotten(ctx context.Context, series []series.NewSeries) error
	// Renamed replaces what Observe wrote for series under their old names by what it writes for the
	// new ones, durably. Both lists have the same series in the same order. Old names that are the new
	// ones are not known: everything else that is known of the series is from before. It may be called
	// again for the same series; none of them is observed or forgotten at the same time.
	Renamed(ctx context.Context, old, renamed []series.NewSeries) error
}

// observe shows the observer series whose rows do not exist. Rows that other writers made are no
// news: what a TSD left out is for a sync to mend.
func (r *resolution) observe(ctx context.Context, fresh []newSeries) error {
	if r.registrar.observer == nil {
		return nil
	}
	r.news = r.news[:0]
	for _, f := range fresh {
		r.news = append(r.news, series.NewSeries{TSUID: f.tsuid, Series: r.series[f.series]})
	}
	if err := r.registrar.observer.Observe(ctx, r.news); err != nil {
		return fmt.Errorf("observe %d new series: %w", len(r.news), err)
	}
	return nil
}

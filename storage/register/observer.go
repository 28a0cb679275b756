package register

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
)

// observe shows the observer series whose rows do not exist. Rows that other writers made are no
// news: what a TSD left out is for a sync to mend.
func (r *resolution) observe(ctx context.Context, fresh []newSeries) error {
	if r.registrar.observer == nil {
		return nil
	}
	r.news = r.news[:0]
	for _, f := range fresh {
		r.news = append(r.news, storage.NewSeries{TSUID: f.tsuid, Series: r.series[f.series]})
	}
	if err := r.registrar.observer.Observe(ctx, r.news); err != nil {
		return fmt.Errorf("observe %d new series: %w", len(r.news), err)
	}
	return nil
}

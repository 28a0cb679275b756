package uid

import (
	"context"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
)

// assignRandom gives the open ones of new metrics ids at random. The counter of metrics stays as it is, as in
// a TSD with tsd.core.uid.random_metrics.
func (d *Dictionary) assignRandom(ctx context.Context, n *newNames, open []int, moment uint64) {
	if err := d.before(ctx, storage.MetricName, 0); err != nil {
		n.fail(err)
		return
	}
	var group errgroup.Group
	group.SetLimit(concurrentAssignments)
	for _, i := range open {
		group.Go(func() error {
			n.uids[i], n.errs[i] = d.assign(ctx, storage.MetricName, n.names[i], d.randomID())
			return nil
		})
	}
	_ = group.Wait() // the errors are in n
	d.keep(storage.MetricName, n, open, moment)
}

// randomID returns an id above 0 that fits the width of metrics.
func (d *Dictionary) randomID() int64 {
	const widest = 7 // bytes of a number that a TSD takes
	return 1 + rand.Int64N(1<<(8*min(d.layout.MetricWidth, widest))-1)
}

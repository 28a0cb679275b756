package backups

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Times are those that the metrics tell: of the last backup, and of the last one that was found whole, in nanoseconds since 1970.
type Times struct{ made, verified, damaged atomic.Int64 }

// readEvery is how often the record of backups is read for the metrics. They are read apart from scrapes, since the
// backups may be on a file system that hangs.
const readEvery = time.Minute

// Watch keeps the times until ctx ends.
func (t *Times) Watch(ctx context.Context, r Record) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		t.read(r)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// read takes the times from a record. One that cannot be read changes nothing.
func (t *Times) read(r Record) {
	list, err := r.list()
	if err != nil {
		return
	}
	var made, verified time.Time
	damaged := int64(0)
	for _, b := range list {
		if b.At.After(made) {
			made = b.At
		}
		switch v := b.found(); {
		case v == nil:
		case v.Error != "":
			damaged++
		case v.At.After(verified):
			verified = v.At
		}
	}
	t.made.Store(nanos(made))
	t.verified.Store(nanos(verified))
	t.damaged.Store(damaged)
}

// nanos returns a time in nanoseconds since 1970; 0: there is none.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Register registers the metrics.
func (t *Times) Register(r prometheus.Registerer) {
	f := promauto.With(r)
	seconds := func(of *atomic.Int64) func() float64 { return func() float64 { return float64(of.Load()) / 1e9 } }
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_backup_last_made_timestamp_seconds",
		Help: "When the last backup or snapshot of the store was made, in seconds since 1970; 0: none is recorded. Read each minute.",
	}, seconds(&t.made))
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_backup_last_verified_timestamp_seconds",
		Help: "When \"backup verify\" last found a recorded backup whole, in seconds since 1970; 0: never. Read each minute.",
	}, seconds(&t.verified))
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_backup_damaged",
		Help: "Recorded backups that \"backup verify\" found damaged the last time.",
	}, func() float64 { return float64(t.damaged.Load()) })
}

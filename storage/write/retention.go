package write

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/changes"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Times of the retention.
const (
	retentionEvery = time.Hour   // a row is an hour, so no pass finds more to do than each hour
	retentionRetry = time.Minute // after an error
	toldEvery      = 24 * time.Hour
	// MinRetention is the shortest: rows go as a whole.
	MinRetention = time.Hour
)

// rangesAtOnce bounds the ranges that are deleted together, and with that memory and the size of a
// change.
const rangesAtOnce = 1024

// errNoRetention is for engines that expire rows by themselves, or not at all.
var errNoRetention = errors.New("--storage.retention: the engine cannot delete ranges of rows")

// retention deletes the rows of the data table that have become too old: those whose whole hour is
// older than Options.Retention. UIDs, tsdb-meta and trees stay, as they do on OpenTSDB's tables, so
// a series that comes back is the same series. What arrives for such an hour later, or is put by a
// late flush, goes with the next pass.
type retention struct {
	db      *kv.Engine
	table   string // of points
	layout  schema.Layout
	keep    time.Duration
	now     func() time.Time
	logger  *slog.Logger
	deleter kv.RangeDeleter
	changes *changes.Log // see Options.Changes
	metrics retentionMetrics

	told   time.Time // when it was last logged what was deleted
	untold int       // ranges that were deleted since
}

type retentionMetrics struct {
	passes, errors, ranges prometheus.Counter
	before, seconds        prometheus.Gauge
}

func newRetention(o *Options) (*retention, error) {
	if o.DB.Local == nil {
		return nil, errNoRetention
	}
	f := promauto.With(o.Registerer)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_retention_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: "tsdbridge_retention_" + name, Help: help})
	}
	return &retention{
		db: o.DB, table: o.Tables.Data, layout: o.Layout, keep: o.Retention, now: o.Now, logger: o.Logger,
		deleter: o.DB.Local, changes: o.Changes, metrics: retentionMetrics{
			passes:  counter("passes_total", "Passes over the data table that deleted all that was too old."),
			errors:  counter("errors_total", "Passes that ended before they were complete."),
			ranges:  counter("ranges_deleted_total", "Hours of a metric and salt bucket, or runs of them, that had rows and were deleted."),
			before:  gauge("deleted_before_timestamp_seconds", "Points of hours before this time were deleted by the last whole pass."),
			seconds: gauge("last_pass_duration_seconds", "Duration of the last whole pass."),
		},
	}, nil
}

// run makes a pass at once and then each hour until ctx ends.
func (r *retention) run(ctx context.Context) error {
	var passed retry.Outcome
	for {
		wait := retentionEvery
		err := r.pass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			wait = retentionRetry
			r.metrics.errors.Inc()
		}
		if passed.Note(ctx, err) {
			r.logger.Error("what is too old cannot be deleted, which is tried again; see TsdbridgeUpkeepFailing in docs/monitoring.md", "table", r.table, "err", err)
		}
		if !retry.Sleep(ctx, wait) {
			return nil
		}
	}
}

// pass deletes all rows whose whole hour is too old.
func (r *retention) pass(ctx context.Context) error {
	begin := time.Now()
	before := r.now().Add(-r.keep).UnixMilli()
	if before < schema.RowSeconds*1000 {
		return nil // nothing is as old
	}
	// The hour that holds this moment is younger in part, those before it are not.
	base := schema.Base(min(before, storage.MaxTime))
	held, err := r.deleteBefore(ctx, base)
	r.changes.Times(0, int64(base)*1000-1) // also after an error: some of it may be done
	r.metrics.ranges.Add(float64(held))
	if err != nil {
		return err
	}
	took := time.Since(begin)
	r.metrics.passes.Inc()
	r.metrics.before.Set(float64(base))
	r.metrics.seconds.Set(took.Seconds())
	if held > 0 {
		r.logger.Debug("a pass deleted what is older than the retention", "before", time.Unix(int64(base), 0).UTC(), "ranges", held, "duration", took)
	}
	r.tell(held, base)
	return nil
}

// tell logs what was deleted, once a day: each hour deletes the rows of an hour.
func (r *retention) tell(ranges int, base uint32) {
	r.untold += ranges
	if now := r.now(); r.untold > 0 && now.Sub(r.told) >= toldEvery {
		r.logger.Info("deleted what is older than the retention", "before", time.Unix(int64(base), 0).UTC(), "ranges", r.untold)
		r.told, r.untold = now, 0
	}
}

// deleteBefore goes from metric to metric, with one look at each. It finds them by their rows, not
// by the index, so that rows are found which no index lists.
func (r *retention) deleteBefore(ctx context.Context, base uint32) (held int, err error) {
	var ranges []kv.KeyRange
	remove := func() error {
		n, err := r.deleter.DeleteRange(ctx, r.table, ranges...)
		held += n
		ranges = ranges[:0]
		return err
	}
	for start := []byte{}; start != nil; {
		key, err := r.firstRow(ctx, start)
		if err != nil {
			return held, err
		}
		if key == nil {
			break
		}
		rows, ok := r.layout.RowsBefore(key, base)
		if start = rows.Next; !ok || bytes.Compare(key, rows.To) >= 0 {
			continue
		}
		if ranges = append(ranges, kv.KeyRange{From: rows.From, To: rows.To}); len(ranges) < rangesAtOnce {
			continue
		}
		if err := remove(); err != nil {
			return held, err
		}
	}
	return held, remove()
}

// firstRow is the first row key from start on, nil if there is none.
func (r *retention) firstRow(ctx context.Context, start []byte) ([]byte, error) {
	scan := kv.Scan{Table: r.table, Family: schema.FamilyData, Start: start, KeysOnly: true, Limit: 1}
	for row, err := range r.db.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("look for old rows: %w", err)
		}
		return row.Key, nil
	}
	return nil, nil
}

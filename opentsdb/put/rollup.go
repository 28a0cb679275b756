package put

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A RollupConfig is how rolled up and pre-aggregated values are taken.
type RollupConfig struct {
	// TagKey is --opentsdb.rollup-tag: the tag that says by which aggregation a value of a group of
	// series was made. RawTag, if set, is the value that it gets for one series.
	TagKey, RawTag string
	// AllowDerived is --opentsdb.rollup-derived: averages and deviations may be stored.
	AllowDerived bool
	// Split is --opentsdb.rollup-split: queries read points from where the values of intervals may not be there yet.
	Split bool
}

// Rollups are where rolled up values are kept; those of a store are one.
type Rollups interface {
	Config() *rollup.Config
	Check(p *rollup.Point) error
	Put(ctx context.Context, points []rollup.Point) error
}

// RollupStore stores rolled up values of OpenTSDB's protocols. It is safe for concurrent use.
type RollupStore struct {
	o        RollupConfig
	rollups  Rollups // nil: none are configured
	appender storage.Appender
	names    putline.NameRules
	// exported means that values are those of an export: their tags are complete, and what the series of others has
	// been checked for does not matter.
	exported bool
}

// NewExportedRollups returns a RollupStore of values of an export.
func NewExportedRollups(tagKey string, rollups Rollups, appender storage.Appender, names putline.NameRules) *RollupStore {
	return &RollupStore{o: RollupConfig{TagKey: tagKey}, rollups: rollups, appender: appender, names: names, exported: true}
}

// Configured reports whether there are tables for rolled up values.
func (r *RollupStore) Configured() bool { return r.rollups != nil }

// sentRollup is a rolled up value as its client wrote it.
type sentRollup struct {
	putline.Sent
	interval, aggregation, group string
}

// noInterval is the error of an interval that is not configured.
type noInterval string

func (n noInterval) Error() string { return "No rollups configured for the interval: " + string(n) }

const errNoRollups = putline.ArgumentError("No rollup or aggregations were configured")

// resolve returns the value with its series, or why it is refused. It is
// TSDB.addAggregatePointInternal of OpenTSDB 2.4.1 up to where it writes.
func (r *RollupStore) resolve(p *sentRollup) (s storage.Series, v rollup.Point, err error) {
	if r.rollups == nil {
		return s, v, errNoRollups
	}
	if !p.Value.Finite() {
		return s, v, p.Refuse(r.names)
	}
	if p.Timestamp < 0 || p.Timestamp>>32 != 0 {
		return s, v, putline.ArgumentError(fmt.Sprintf("bad timestamp=%d when trying to add value=%s to metric=%s, tags=%s",
			p.Timestamp, p.ValueText(), p.Metric, putline.TagsText(p.Tags)))
	}
	if err := r.tag(p); err != nil {
		return s, v, err
	}
	if err := p.Refuse(r.names); err != nil {
		return s, v, err
	}
	if v, err = r.point(p); err != nil {
		return s, v, err
	}
	return putline.Series(p.Metric, p.Tags), v, nil
}

// tag adds the tag that says which group of series a value is of, and checks the group's aggregation.
func (r *RollupStore) tag(p *sentRollup) error {
	at := putline.TagIndex(p.Tags, r.o.TagKey)
	switch {
	case r.exported && (at >= 0 && (p.group == "" || strings.EqualFold(p.Tags[at].Value, p.group)) || p.group == ""):
	case at >= 0 && !strings.EqualFold(p.Tags[at].Value, p.group):
		return putline.ArgumentError(fmt.Sprintf("Given tag value for %s of %s did not match the group by aggregator of %s for %s %s",
			r.o.TagKey, p.Tags[at].Value, orNull(p.group), p.Metric, putline.TagsText(p.Tags)))
	case at >= 0:
		p.Tags[at].Value = strings.ToUpper(p.group)
	case p.group != "":
		p.Tags = append(p.Tags, storage.Tag{Key: r.o.TagKey, Value: strings.ToUpper(p.group)})
	case r.o.RawTag != "":
		p.Tags = append(p.Tags, storage.Tag{Key: r.o.TagKey, Value: r.o.RawTag})
	}
	if p.group == "" {
		return nil
	}
	if _, ok := aggregate.Get(strings.ToLower(p.group)); !ok {
		return putline.ArgumentError(fmt.Sprintf("Invalid group by aggregator %s with metric %s %s", p.group, p.Metric, putline.TagsText(p.Tags)))
	}
	if r.derived(p.group) {
		return putline.ArgumentError(fmt.Sprintf("Derived group by aggregations are not allowed %s with metric %s %s", p.group, p.Metric, putline.TagsText(p.Tags)))
	}
	return nil
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// derived reports whether an aggregation is refused because others can be computed again from its
// parts.
func (r *RollupStore) derived(aggregation string) bool {
	return !r.o.AllowDerived && !r.exported && (strings.EqualFold(aggregation, "avg") || strings.EqualFold(aggregation, "dev"))
}

// point returns the value without its series.
func (r *RollupStore) point(p *sentRollup) (rollup.Point, error) {
	v := rollup.Point{Time: uint32(p.Timestamp), Group: p.group != "", Interval: r.rollups.Config().Default()}
	if p.interval != "" {
		interval, ok := r.rollups.Config().Interval(p.interval)
		if !ok {
			return v, noInterval(p.interval)
		}
		v.Interval, v.Aggregation = interval, strings.ToLower(p.aggregation)
		if !interval.Default && p.aggregation == "" {
			return v, putline.ArgumentError("Aggregator cannot be null or empty.")
		}
	}
	if err := r.rollups.Check(&v); err != nil {
		return v, putline.ArgumentError(strings.TrimPrefix(err.Error(), storage.ErrInvalid.Error()+": "))
	}
	if p.interval != "" && r.derived(p.aggregation) {
		return v, putline.ArgumentError(fmt.Sprintf("Derived rollup aggregations are not allowed %s with metric %s %s", strings.ToUpper(p.aggregation), p.Metric, putline.TagsText(p.Tags)))
	}
	v.Value = p.cell()
	return v, nil
}

// cell returns the value as a TSD stores it.
func (p *sentRollup) cell() schema.Point {
	if p.Value.Integer {
		return schema.IntPoint(0, int64(p.Value.Bits))
	}
	values := schema.ValuesAuto
	if p.Double {
		values = schema.ValuesDouble
	}
	cell, _ := schema.FloatPoint(0, math.Float64frombits(p.Value.Bits), values) // it is finite
	return cell
}

// Store stores values of series, and returns when they are durable. A series that is refused has an
// error of its own; err concerns all others.
func (r *RollupStore) Store(ctx context.Context, series []storage.Series, values []rollup.Point) (refused []error, err error) {
	refs, refused := r.appender.Resolve(ctx, series)
	if refused == nil {
		refused = make([]error, len(series))
	}
	kept, inline := make([]rollup.Point, 0, len(values)), &storage.Batch{}
	for i, v := range values {
		switch v.Series = refs[i]; {
		case refused[i] == nil && v.Interval.Default && !v.Interval.Keeps(true):
			addValue(inline, &v)
		case refused[i] == nil:
			kept = append(kept, v)
		case !storage.IsRefusal(refused[i]):
			return refused, refused[i] // the client tries again
		}
	}
	if len(inline.Refs) > 0 {
		err = r.appender.Append(ctx, inline)
	}
	if err == nil && len(kept) > 0 {
		err = r.rollups.Put(ctx, kept)
	}
	return refused, err
}

// addValue appends the value of a group as the point that it is in the table of the points.
func addValue(b *storage.Batch, v *rollup.Point) {
	at := int64(v.Time) * 1000
	if v.Value.IsInt() {
		b.AddForm(v.Series, at, math.Float64frombits(uint64(v.Value.Int())), storage.FormInteger)
		return
	}
	b.AddForm(v.Series, at, v.Value.Float(), storage.FormDouble)
}

package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// Resolve implements Appender.
func (reg *Registrar) Resolve(ctx context.Context, all []storage.Series) ([]storage.Ref, []error) {
	return reg.resolve(ctx, all, firstPoint)
}

// birth is how many points the row of a new series counts.
type birth int64

const (
	noPoint    birth = 0 // OpenTSDB's API makes such rows, with documents that name no time
	firstPoint birth = 1
)

func (reg *Registrar) resolve(ctx context.Context, all []storage.Series, b birth) ([]storage.Ref, []error) {
	release, err := reg.naming.keep(ctx)
	if err != nil {
		return make([]storage.Ref, len(all)), repeated(err, len(all))
	}
	defer release()
	return reg.resolveNamed(ctx, all, b)
}

func repeated(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// resolveNamed is resolve for a caller that keeps the names.
func (reg *Registrar) resolveNamed(ctx context.Context, all []storage.Series, b birth) ([]storage.Ref, []error) {
	r := reg.resolutions.Get().(*resolution)
	defer reg.resolutions.Put(r)
	defer r.reset()
	r.begin(reg, all)
	r.birth = b
	r.admit(ctx)
	defer func() { reg.admission.keep(r.promised, r.made, r.madeTags) }()
	for _, kind := range storage.NameKinds() {
		r.assign(ctx, kind)
	}
	r.index()
	r.putMeta(ctx)
	return r.refs, r.errs
}

// resolution is one call of Resolve: its steps go over all series that have no error yet.
type resolution struct {
	registrar *Registrar
	series    []storage.Series
	refs      []storage.Ref
	errs      []error // nil: there is none

	names [3]nameList // by kind
	first []int32     // by series: where its tags are in the lists of names

	tsuids []byte // one after the other
	ends   []int  // of tsuids, as far as there are
	good   []int  // the series that they are of
	pairs  []schema.Pair
	ids    []index.ID // of good

	promised charge // by admission
	made     int    // series
	madeTags int    // of them, beyond the usual ones

	fresh []newSeries
	birth birth
	metaRows
}

// begin checks the series.
func (r *resolution) begin(s *Registrar, all []storage.Series) {
	r.registrar, r.series, r.refs = s, all, make([]storage.Ref, len(all))
	tags := int32(0)
	for i := range all {
		r.first = append(r.first, tags)
		tags += int32(len(all[i].Tags))
		if err := checkSeries(all[i]); err != nil {
			r.fail(i, err)
		}
	}
}

// reset lets go of everything but memory.
func (r *resolution) reset() {
	for k := range r.names {
		r.names[k].reset()
	}
	clear(r.pairs[:cap(r.pairs)])
	clear(r.fresh)
	r.metaRows.reset()
	*r = resolution{
		names: r.names, first: r.first[:0], tsuids: r.tsuids[:0], ends: r.ends[:0], good: r.good[:0], pairs: r.pairs[:0],
		ids: r.ids[:0], fresh: r.fresh[:0], metaRows: r.metaRows,
	}
}

// fail gives a series an error in place of its ref.
func (r *resolution) fail(i int, err error) {
	if r.errs == nil {
		r.errs = make([]error, len(r.series))
	}
	r.refs[i], r.errs[i] = 0, err
}

func (r *resolution) failed(i int) bool { return r.errs != nil && r.errs[i] != nil }

func checkSeries(s storage.Series) error {
	switch {
	case len(s.Tags) == 0:
		return fmt.Errorf("%w: series %s has no tag", storage.ErrInvalid, s)
	case len(s.Tags) > storage.MaxTags:
		return fmt.Errorf("%w: series has %d tags, a row key holds %d", storage.ErrLimit, len(s.Tags), storage.MaxTags)
	}
	for i := range s.Tags {
		if i > 0 && s.Tags[i].Key <= s.Tags[i-1].Key {
			return fmt.Errorf("%w: series %s: tag keys are not in ascending order, each once", storage.ErrInvalid, s)
		}
	}
	return nil
}

// assign looks up or assigns the UIDs of one kind.
func (r *resolution) assign(ctx context.Context, kind storage.NameKind) {
	l := &r.names[kind]
	for i := range r.series {
		r.collect(l, kind, i)
	}
	var errs []error
	l.uids, errs = r.registrar.uids.Assign(ctx, kind, l.list)
	if errs == nil {
		return
	}
	for i := range r.series {
		if r.failed(i) {
			continue
		}
		for _, n := range l.of(r.at(kind, i)) {
			if err := errs[n]; err != nil {
				r.fail(i, classifyUID(err, &r.series[i]))
				break
			}
		}
	}
}

// collect adds the names of a kind that series i has. Neighbours mostly have their tags in common.
func (r *resolution) collect(l *nameList, kind storage.NameKind, i int) {
	s := &r.series[i]
	switch {
	case r.failed(i):
		l.skip(r.at(kind, i))
	case kind == storage.MetricName:
		l.add(s.Metric, i-1)
	default:
		before := len(l.uses) // where the tags of the series before begin, if it has any
		if i > 0 {
			before = int(r.first[i-1])
		}
		for t := range s.Tags {
			name := s.Tags[t].Key
			if kind == storage.TagValueName {
				name = s.Tags[t].Value
			}
			l.add(name, before+t)
		}
	}
}

// at is where series i has its names of a kind in the list of uses.
func (r *resolution) at(kind storage.NameKind, i int) (from, to int) {
	if kind == storage.MetricName {
		return i, i + 1
	}
	return int(r.first[i]), int(r.first[i]) + len(r.series[i].Tags)
}

func classifyUID(err error, s *storage.Series) error {
	switch {
	case errors.Is(err, storage.ErrName):
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	case errors.Is(err, uid.ErrExhausted):
		return fmt.Errorf("%w: series %s: %w", storage.ErrLimit, shortName(*s), err)
	}
	return err
}

// index gives each series its Ref and notes those whose tsdb-meta row is not known to exist.
func (r *resolution) index() {
	for i := range r.series {
		if !r.failed(i) {
			r.addTSUID(i)
		}
	}
	s := r.registrar
	r.ids = s.index.AddAll(r.ids, r.tsuids, r.ends)
	for n, id := range r.ids {
		i := r.good[n]
		r.refs[i] = index.RefOf(id)
		if !s.registry.Of(id).Exists() {
			r.fresh = append(r.fresh, newSeries{id: id, series: i})
		}
	}
}

// addTSUID makes the TSUID of series i.
func (r *resolution) addTSUID(i int) {
	keys, values := &r.names[storage.TagKeyName], &r.names[storage.TagValueName]
	r.pairs = r.pairs[:0]
	for n := range r.series[i].Tags {
		at := int(r.first[i]) + n
		r.pairs = append(r.pairs, schema.Pair{Key: keys.uid(at), Value: values.uid(at)})
	}
	r.tsuids = r.registrar.layout.AppendTSUID(r.tsuids, r.names[storage.MetricName].uid(i), r.pairs)
	r.ends, r.good = append(r.ends, len(r.tsuids)), append(r.good, i)
}

// AssignMetrics returns the UIDs of metrics. New ones count as new series.
func (reg *Registrar) AssignMetrics(ctx context.Context, metrics []string) (uids []string, errs []error, err error) {
	made, err := reg.admitNames(ctx, metrics)
	if err != nil {
		return nil, nil, err
	}
	defer reg.admission.keep(charge{units: made}, made, 0)
	uids, errs = reg.uids.Assign(ctx, storage.MetricName, metrics)
	for i, err := range errs {
		if err != nil {
			errs[i] = classifyUID(err, &storage.Series{Metric: metrics[i]})
		}
	}
	return uids, errs, nil
}

// Register resolves series by their names, as their first points would. Those of which a UID has no
// name are left out.
func (reg *Registrar) Register(ctx context.Context, ids []index.ID) error {
	return reg.registerAs(ctx, ids, firstPoint)
}

// Create is Register for series without a point.
func (reg *Registrar) Create(ctx context.Context, ids []index.ID) error {
	return reg.registerAs(ctx, ids, noPoint)
}

func (reg *Registrar) registerAs(ctx context.Context, ids []index.ID, b birth) error {
	release, err := reg.naming.keep(ctx) // the names are those of the series until they are resolved
	if err != nil {
		return err
	}
	defer release()
	found, err := reg.catalog.NameSome(ctx, ids)
	if err != nil {
		return err
	}
	names := make([]storage.Series, len(found))
	for i, f := range found {
		names[i] = f.Series
	}
	_, errs := reg.resolveNamed(ctx, names, b)
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("series %s: %w", names[i], err)
		}
	}
	return nil
}

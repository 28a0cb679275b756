package storage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// Resolve implements Appender.
func (s *Store) Resolve(ctx context.Context, series []Series) ([]Ref, []error) {
	r := resolution{store: s, series: series, refs: make([]Ref, len(series)), errs: make([]error, len(series))}
	r.check()
	r.assign(ctx, schema.Metric, func(i int, use func(*string)) { use(&series[i].Metric) })
	r.assign(ctx, schema.Tagk, func(i int, use func(*string)) {
		for t := range series[i].Tags {
			use(&series[i].Tags[t].Key)
		}
	})
	r.assign(ctx, schema.Tagv, func(i int, use func(*string)) {
		for t := range series[i].Tags {
			use(&series[i].Tags[t].Value)
		}
	})
	r.index()
	r.putMeta(ctx)
	for _, err := range r.errs {
		if err != nil {
			return r.refs, r.errs
		}
	}
	return r.refs, nil
}

// resolution is one call of Resolve: its steps go over all series that have no error yet.
type resolution struct {
	store  *Store
	series []Series
	refs   []Ref
	errs   []error
	uids   [3]map[string]string // by kind: name -> UID
	fresh  []int                // series without a tsdb-meta row that this process knows of
}

func (r *resolution) check() {
	for i := range r.series {
		r.errs[i] = checkSeries(r.series[i])
	}
}

func checkSeries(s Series) error {
	switch {
	case len(s.Tags) == 0:
		return fmt.Errorf("%w: series %s has no tag", ErrInvalid, s)
	case len(s.Tags) > MaxTags:
		return fmt.Errorf("%w: series has %d tags, a row key holds %d", ErrLimit, len(s.Tags), MaxTags)
	}
	for i := range s.Tags {
		if i > 0 && s.Tags[i].Key <= s.Tags[i-1].Key {
			return fmt.Errorf("%w: series %s: tag keys are not in ascending order, each once", ErrInvalid, s)
		}
	}
	return nil
}

// String prints a series as OpenTSDB does: metric{key=value,...}.
func (s Series) String() string {
	var b strings.Builder
	b.WriteString(s.Metric)
	if len(s.Tags) == 0 {
		b.WriteByte('{')
	}
	for i, t := range s.Tags {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(t.Key)
		b.WriteByte('=')
		b.WriteString(t.Value)
	}
	b.WriteByte('}')
	return b.String()
}

// assign looks up or assigns the UIDs of one kind; names calls use for each name of series i.
func (r *resolution) assign(ctx context.Context, kind schema.Kind, names func(i int, use func(*string))) {
	seen := map[string]string{}
	var list []string
	for i := range r.series {
		if r.errs[i] == nil {
			names(i, func(name *string) {
				if _, ok := seen[*name]; !ok {
					seen[*name] = ""
					list = append(list, *name)
				}
			})
		}
	}
	uids, errs := r.store.uids.Assign(ctx, kind, list)
	failed := map[string]error{}
	for n, name := range list {
		if errs != nil && errs[n] != nil {
			failed[name] = classifyUID(errs[n])
			continue
		}
		seen[name] = uids[n]
	}
	if len(failed) > 0 {
		for i := range r.series {
			names(i, func(name *string) {
				if err := failed[*name]; err != nil && r.errs[i] == nil {
					r.errs[i] = err
				}
			})
		}
	}
	r.uids[kind] = seen
}

func classifyUID(err error) error {
	switch {
	case errors.Is(err, uid.ErrName):
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case errors.Is(err, uid.ErrExhausted):
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	return err
}

// index gives each series its Ref and notes those whose tsdb-meta row is not known to exist.
func (r *resolution) index() {
	var tsuid []byte
	var pairs []schema.Pair
	for i := range r.series {
		if r.errs[i] != nil {
			continue
		}
		pairs = pairs[:0]
		for _, t := range r.series[i].Tags {
			pairs = append(pairs, schema.Pair{Key: []byte(r.uids[schema.Tagk][t.Key]), Value: []byte(r.uids[schema.Tagv][t.Value])})
		}
		tsuid = r.store.layout.AppendTSUID(tsuid[:0], []byte(r.uids[schema.Metric][r.series[i].Metric]), pairs)
		id, _, err := r.store.index.Add(tsuid)
		if err != nil {
			r.errs[i] = err
			continue
		}
		r.refs[i] = refOf(id)
		if !r.store.states.get(id).hasMeta.Load() {
			r.fresh = append(r.fresh, i)
		}
	}
}

// putMeta writes the tsdb-meta rows that are missing: the counter and the document that a TSD with its meta tracking on
// would have written for the first point. The observer comes first: a row says that everything of its series is there.
func (r *resolution) putMeta(ctx context.Context) {
	if len(r.fresh) == 0 {
		return
	}
	s := r.store
	at := make([]int, 0, len(r.fresh)) // the first of each series in fresh
	keys := make([][]byte, 0, len(r.fresh))
	seen := make(map[Ref]bool, len(r.fresh))
	for _, i := range r.fresh {
		if ref := r.refs[i]; !seen[ref] {
			seen[ref] = true
			at = append(at, i)
			keys = append(keys, []byte(s.index.TSUID(ref.id())))
		}
	}
	rows, err := s.db.Get(ctx, s.o.Tables.Meta, schema.FamilyMeta, keys)
	if err != nil {
		r.fail(r.fresh, fmt.Errorf("read %s: %w", s.o.Tables.Meta, err))
		return
	}
	for n, row := range rows {
		if len(row.Cells) > 0 && s.noteMeta(r.refs[at[n]].id()) {
			s.metrics.seriesNew.Inc()
		}
	}
	if err := r.observe(ctx, rows, at); err != nil {
		r.fail(r.unfinished(), err)
		return
	}
	if err := s.db.Apply(ctx, s.o.Tables.Meta, schema.FamilyMeta, s.newMetaRows(rows)); err != nil {
		r.fail(r.unfinished(), fmt.Errorf("write %s: %w", s.o.Tables.Meta, err))
		return
	}
	for n, i := range at {
		if len(rows[n].Cells) == 0 && s.noteNew(r.refs[i].id()) {
			s.metrics.seriesNew.Inc()
		}
	}
}

// unfinished are the series of fresh whose tsdb-meta row is still not known to exist.
func (r *resolution) unfinished() []int {
	return slices.DeleteFunc(slices.Clone(r.fresh), func(i int) bool {
		return r.store.states.get(r.refs[i].id()).hasMeta.Load()
	})
}

// fail gives some series an error in place of their refs.
func (r *resolution) fail(series []int, err error) {
	for _, i := range series {
		r.refs[i], r.errs[i] = 0, err
	}
}

// newMetaRows are the tsdb-meta rows for those of rows that do not exist.
func (s *Store) newMetaRows(rows []kv.Row) []kv.Mutation {
	now := s.o.Now().Unix()
	var missing []kv.Mutation
	for _, row := range rows {
		if len(row.Cells) > 0 {
			continue
		}
		document := schema.TSMeta{TSUID: schema.FormatTSUID(row.Key), Created: now, Max: math.NaN(), Min: math.NaN()}.AppendTo(nil)
		missing = append(missing, kv.Mutation{Key: row.Key, Puts: []kv.Put{
			{Qualifier: schema.CounterQualifier(), Value: schema.EncodeCounter(1)},
			{Qualifier: schema.MetaQualifier(), Value: document},
		}})
	}
	return missing
}

package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// Find implements Querier. A series of which a UID has no name is a NamelessError.
func (cat *Catalog) Find(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error) {
	return cat.findAs(ctx, filters, start, end, limit, whole)
}

// FindLost is Find for callers that do not need the names of all values: a value without a name is
// one for which LostValue returns an error.
func (cat *Catalog) FindLost(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error) {
	return cat.findAs(ctx, filters, start, end, limit, lostValues)
}

// FindNamed is Find for jobs that must go on: series of which a UID has no name are left out, and
// logged.
func (cat *Catalog) FindNamed(ctx context.Context, filters []storage.Filter, start, end int64) ([]storage.Found, error) {
	return cat.findAs(ctx, filters, start, end, 0, named)
}

// A naming is what becomes of series of which a UID has no name.
type naming int

const (
	whole      naming = iota // they are an error
	lostValues               // those whose tag values alone have no name have lost values
	named                    // they are left out, and logged
)

func (cat *Catalog) findAs(ctx context.Context, filters []storage.Filter, start, end int64, limit int, as naming) ([]storage.Found, error) {
	ctx, span := tracing.Start(ctx, "find")
	found, err := cat.find(ctx, filters, start, end, limit, as)
	span.Number("series", int64(len(found)))
	span.End(err)
	return found, err
}

func (cat *Catalog) find(ctx context.Context, filters []storage.Filter, start, end int64, limit int, as naming) ([]storage.Found, error) {
	if err := cat.o.Ready(); err != nil {
		return nil, err
	}
	f, err := cat.newFinder(ctx, filters, start, end)
	if err != nil {
		return nil, err
	}
	if !f.nothing {
		if err := cat.discover(ctx, f, start, end); err != nil {
			return nil, err
		}
	}
	if f.skipped && f.keys != cat.unused.moment(cat.index.Keys()) { // a skipped key may be among the new ones
		if f, err = cat.newFinder(ctx, filters, start, end); err != nil {
			return nil, err
		}
	}
	ids, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(ids) > limit {
		return nil, fmt.Errorf("%w: the query selects %d series, the limit is %d", storage.ErrLimit, len(ids), limit)
	}
	found, err := cat.nameAs(ctx, ids, as)
	if err != nil {
		return nil, err
	}
	return found, f.decided(found)
}

// finder turns filters on names into conditions on UIDs.
type finder struct {
	catalog    *Catalog
	metrics    []string // metric UIDs; nil: all
	conditions []index.Condition
	matches    []match             // filters whose values must be looked at by name
	nothing    bool                // a name that must be there is unknown
	passes     func(index.ID) bool // may have points in the requested time; nil: all may
	keys       keysMoment          // before the names were looked up
	asks       bool                // looks up every name
	skipped    bool                // did not look up names that are known to be unused
	lost       []storage.Filter    // whose values may be those of UIDs without a name
}

// newFinder resolves filters. It skips unused names only where all series are found by the index:
// rows that are searched by their keys may have tag keys that the index lacks.
func (cat *Catalog) newFinder(ctx context.Context, filters []storage.Filter, start, end int64) (*finder, error) {
	f := &finder{catalog: cat, passes: cat.days.overlap(start, end), keys: cat.unused.moment(cat.index.Keys())}
	if err := f.resolve(ctx, filters); err != nil || !f.skipped || f.registered() {
		return f, err
	}
	f = &finder{catalog: cat, passes: f.passes, keys: f.keys, asks: true}
	return f, f.resolve(ctx, filters)
}

// registered reports whether every metric of the filters has series in tsdb-meta.
func (f *finder) registered() bool {
	unknown := func(metric string) bool { return !f.catalog.registry.hasMetric(metric) }
	return f.metrics != nil && !slices.ContainsFunc(f.metrics, unknown)
}

// match is a filter with a function on names: condition i gets its values when the candidates are
// known.
type match struct {
	condition int
	filter    storage.Filter
}

func (f *finder) resolve(ctx context.Context, filters []storage.Filter) error {
	for _, filter := range filters {
		var err error
		if filter.Keys == nil {
			err = f.resolveMetric(ctx, filter)
		} else {
			err = f.resolveTag(ctx, filter)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) resolveMetric(ctx context.Context, filter storage.Filter) error {
	s := f.catalog
	var uids []string
	if filter.Values != nil {
		found, err := s.lookup(ctx, storage.MetricName, filter.Values)
		if err != nil {
			return err
		}
		uids = found
	} else {
		all, err := s.allMetrics(ctx, nil)
		if err != nil {
			return err
		}
		turn := query.TurnOf(ctx)
		for uid, name := range all {
			if err := turn.Yield(ctx); err != nil { // a regular expression may take long
				return err
			}
			if filter.Match == nil || name == "" || filter.Match(name) { // one without a name is an error later
				uids = append(uids, uid)
			}
		}
	}
	if f.metrics != nil {
		uids = intersectStrings(f.metrics, uids)
	}
	f.metrics = append([]string{}, uids...) // not nil, even if empty
	f.nothing = f.nothing || len(uids) == 0
	return nil
}

func (f *finder) resolveTag(ctx context.Context, filter storage.Filter) error {
	s := f.catalog
	c := index.Condition{Absent: filter.Absent}
	var err error
	if c.Keys, err = s.lookup(ctx, storage.TagKeyName, filter.Keys); err != nil {
		return err
	}
	if c.Or, err = f.lookupOthers(ctx, filter.Or); err != nil {
		return err
	}
	switch {
	case filter.Values != nil:
		uids, err := s.lookup(ctx, storage.TagValueName, filter.Values)
		if err != nil {
			return err
		}
		c.Values = make(map[string]bool, len(uids))
		for _, uid := range uids {
			c.Values[uid] = true
		}
		if len(uids) == 0 && len(c.Or) == 0 && !c.Absent {
			f.nothing = true
		}
	case filter.Match != nil:
		f.matches = append(f.matches, match{len(f.conditions), filter})
	}
	if len(c.Keys) == 0 && len(c.Or) == 0 && !c.Absent {
		f.nothing = true
	}
	f.conditions = append(f.conditions, c)
	return nil
}

// lookupOthers is lookup for tag keys that few series have: those that are known to be unused are
// not looked up again.
func (f *finder) lookupOthers(ctx context.Context, names []string) ([]string, error) {
	s := f.catalog
	now := s.o.Now()
	if !f.asks && len(names) > 0 && s.unused.has(names, f.keys, now) {
		f.skipped = true
		return nil, nil
	}
	uids, err := s.lookup(ctx, storage.TagKeyName, names)
	if err == nil && len(uids) == 0 {
		s.unused.add(names, f.keys, now.Add(s.o.IndexRefresh))
	}
	return uids, err
}

// find evaluates the conditions against the index.
func (f *finder) find(ctx context.Context) ([]index.ID, error) {
	if f.nothing {
		return nil, nil
	}
	x := f.catalog.index
	ids := f.candidates()
	for _, m := range f.matches {
		c := &f.conditions[m.condition]
		uids := x.PossibleValues(ids, c.Keys)
		names, err := f.catalog.uids.Names(ctx, storage.TagValueName, uids)
		if err != nil {
			return nil, err
		}
		c.Values = make(map[string]bool, len(uids))
		turn := query.TurnOf(ctx)
		for i, uid := range uids {
			if err := turn.Yield(ctx); err != nil {
				return nil, err
			}
			if names[i] == "" || m.filter.Match(names[i]) {
				c.Values[uid] = true
			}
		}
		if slices.Contains(names, "") {
			f.lost = append(f.lost, m.filter)
		}
	}
	if len(f.matches) > 0 {
		ids = f.candidates() // the values that match may be few
	}
	return x.Pass(ids, f.conditions), nil
}

// decided returns an error if a filter has not decided about one of the series that were found, since the value has no
// name that could match.
func (f *finder) decided(found []storage.Found) error {
	for _, filter := range f.lost {
		for i := range found {
			for _, tag := range found[i].Tags {
				if err := storage.LostValue(tag.Value); err != nil && slices.Contains(filter.Keys, tag.Key) {
					return storage.LostName(&found[i].Series)
				}
			}
		}
	}
	return nil
}

// candidates returns the series that may satisfy the conditions, and may have points in the
// requested time.
func (f *finder) candidates() []index.ID {
	return f.catalog.passing(f.metrics, f.conditions, f.passes)
}

// lookup returns the UIDs of those names that have one.
func (cat *Catalog) lookup(ctx context.Context, kind storage.NameKind, names []string) ([]string, error) {
	uids, err := cat.uids.Lookup(ctx, kind, names)
	if err != nil {
		return nil, err
	}
	known := uids[:0]
	for _, uid := range uids {
		if uid != "" {
			known = append(known, uid)
		}
	}
	return known, nil
}

// Name names series. One of which a UID has no name is a NamelessError.
func (cat *namer) Name(ctx context.Context, ids []index.ID) ([]storage.Found, error) {
	return cat.nameAs(ctx, ids, whole)
}

// NameSome is Name without the series of which a UID has no name: they are logged.
func (cat *namer) NameSome(ctx context.Context, ids []index.ID) ([]storage.Found, error) {
	return cat.nameAs(ctx, ids, named)
}

func (cat *namer) nameAs(ctx context.Context, ids []index.ID, as naming) ([]storage.Found, error) {
	pairs := 1
	if len(ids) > 0 {
		// of most series
		pairs = (len(cat.index.TSUID(ids[len(ids)-1])) - cat.layout.MetricWidth) / cat.layout.PairWidth()
	}
	if err := query.AccountOf(ctx).Take(int64(len(ids) * (seriesBytes + pairs*tagBytes))); err != nil {
		return nil, err
	}
	tsuids := cat.index.TSUIDs(nil, ids)
	n, err := cat.newNames(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	if as == lostValues {
		n.replaceLost()
	}
	all := n.series()
	found := make([]storage.Found, 0, len(ids))
	var lost []int
	for i, id := range ids {
		if all[i].Tags == nil {
			lost = append(lost, i)
			continue
		}
		found = append(found, storage.Found{Ref: index.RefOf(id), Series: all[i]})
	}
	return found, cat.leaveOut(ctx, n, lost, as)
}

// leaveOut returns the error of those series that have no names; nil if they may be left out.
func (cat *namer) leaveOut(ctx context.Context, n *names, lost []int, as naming) error {
	if len(lost) == 0 {
		return nil
	}
	if as == named {
		for _, i := range lost {
			cat.warnNameless(n.nameless(i))
		}
		return nil
	}
	of := make([]string, len(lost))
	for k, i := range lost {
		of[k] = n.tsuids[i]
	}
	left, err := cat.firstLeft(ctx, of)
	if err != nil || left < 0 {
		return err
	}
	return n.nameless(lost[left])
}

package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A finder finds the series that queries mean.
type finder struct {
	catalog   Catalog
	names     Dictionary
	layout    schema.Layout
	maxSeries int // 0: no limit
}

// member is a series of an answer.
type member struct {
	storage.Found
	tsuid []byte
}

// find returns the series that a sub query means, in the order of their TSUIDs.
func (e *finder) find(ctx context.Context, q *SubQuery, start, end int64) ([]member, error) {
	for _, f := range q.Filters {
		if err := query.AccountOf(ctx).Take(f.bytes); err != nil {
			return nil, err
		}
	}
	var found []storage.Found
	var err error
	if len(q.TSUIDs) > 0 {
		if found, err = e.findTSUIDs(ctx, q); err == nil {
			found, err = q.filtered(ctx, found)
		}
	} else {
		found, err = e.findMetric(ctx, q, start, end)
	}
	if err = errors.Join(stepsErr(ctx), err); err != nil {
		return nil, err
	}
	return e.ordered(found), nil
}

// filtered returns the named series that have the values of all filters. A TSD that finds series by their UIDs
// compares each of them. It then takes a series that lacks the tag of a filter of other values, or of a wildcard of
// asterisks alone, though it takes none when it looks for a metric.
func (q *SubQuery) filtered(ctx context.Context, found []storage.Found) ([]storage.Found, error) {
	turn := query.TurnOf(ctx)
	for _, f := range q.Filters {
		if err := turn.Yield(ctx); err != nil {
			return nil, err
		}
		match := f.matcher(stepsOf(ctx))
		if match == nil {
			continue
		}
		var lost error
		found = slices.DeleteFunc(found, func(s storage.Found) bool {
			i := slices.IndexFunc(s.Tags, func(t storage.Tag) bool { return t.Key == f.TagKey })
			if i < 0 {
				return !strings.HasPrefix(f.Type, "not_")
			}
			lost = cmp.Or(lost, storage.LostValue(s.Tags[i].Value))
			return !match(s.Tags[i].Value)
		})
		if lost != nil {
			return nil, lost
		}
	}
	return found, nil
}

// ordered returns series in the order of their TSUIDs, each once.
func (e *finder) ordered(found []storage.Found) []member {
	type place struct { // small, since sorting moves it
		begin, next uint64 // the first bytes of the TSUID
		at          int
	}
	tsuids, places := make([][]byte, len(found)), make([]place, len(found))
	for i, f := range found {
		tsuids[i] = e.catalog.TSUIDOf(f.Ref)
		var begin [16]byte
		copy(begin[:], tsuids[i])
		places[i] = place{binary.BigEndian.Uint64(begin[:]), binary.BigEndian.Uint64(begin[8:]), i}
	}
	slices.SortFunc(places, func(a, b place) int {
		switch {
		case a.begin != b.begin:
			return cmp.Compare(a.begin, b.begin)
		case a.next != b.next:
			return cmp.Compare(a.next, b.next)
		}
		return bytes.Compare(tsuids[a.at], tsuids[b.at])
	})
	members := make([]member, len(found))
	for i, p := range places {
		members[i] = member{found[p.at], tsuids[p.at]}
	}
	return slices.CompactFunc(members, func(a, b member) bool { return a.Ref == b.Ref })
}

func (e *finder) findMetric(ctx context.Context, q *SubQuery, start, end int64) ([]storage.Found, error) {
	if err := e.known(ctx, storage.MetricName, "metrics", q.Metric); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(q.Filters))
	for _, f := range q.Filters {
		if err := e.resolve(ctx, f); err != nil {
			return nil, err
		}
		keys = append(keys, f.TagKey)
	}
	uids, err := e.names.Lookup(ctx, storage.TagKeyName, keys)
	if err != nil {
		return nil, err
	}
	uidOf := map[string]string{}
	for i, key := range keys {
		uidOf[key] = uids[i]
	}
	q.nameKeys(uids)
	conditions, named := q.conditions(uidOf, stepsOf(ctx))
	conditions = append([]storage.Filter{{Values: []string{q.Metric}}}, conditions...)
	found, err := e.catalog.FindLost(ctx, conditions, start, end, e.maxSeries)
	if err != nil || !q.ExplicitTags || len(named) == 0 {
		return found, err
	}
	return slices.DeleteFunc(found, func(f storage.Found) bool { return len(f.Tags) != len(named) }), nil
}

// nameKeys keeps the UIDs of the tags that filters name, in their order, which the echo of a query shows.
func (q *SubQuery) nameKeys(uids []string) {
	uids = slices.Compact(slices.Sorted(slices.Values(uids)))
	q.keyUIDs = nil
	for _, uid := range uids {
		q.keyUIDs = append(q.keyUIDs, []byte(uid))
	}
}

// known returns an UnknownNameError for the first name that has no UID.
func (e *finder) known(ctx context.Context, kind storage.NameKind, what string, names ...string) error {
	uids, err := e.names.Lookup(ctx, kind, names)
	if err != nil {
		return err
	}
	if i := slices.Index(uids, ""); i >= 0 {
		return UnknownNameError{what, names[i]}
	}
	return nil
}

// maxResolved is the number of alternatives up to which a TSD looks up the values of a literal_or
// filter; it is its tsd.query.filter.expansion_limit.
const maxResolved = 4096

// resolve looks up the names of a filter, the values first, as a TSD does: a value that a series must have is
// one that has a UID. One that it must not have need not exist.
func (e *finder) resolve(ctx context.Context, f Filter) error {
	if f.resolves() {
		if err := e.known(ctx, storage.TagValueName, "tagv", f.literals()...); err != nil {
			return err
		}
	}
	return e.known(ctx, storage.TagKeyName, "tagk", f.TagKey)
}

func (e *finder) findTSUIDs(ctx context.Context, q *SubQuery) ([]storage.Found, error) {
	width := e.layout.MetricWidth
	var tsuids [][]byte
	for _, text := range q.TSUIDs {
		tsuid, err := parseTSUID(text)
		if err != nil {
			return nil, refused(err)
		}
		if len(tsuid) < width || (len(tsuid)-width)%e.layout.PairWidth() != 0 {
			return nil, RequestError{fmt.Sprintf("TSUID %s has a wrong length", text)}
		}
		if len(tsuids) > 0 && !bytes.Equal(tsuid[:width], tsuids[0][:width]) {
			return nil, SyntaxError{fmt.Errorf("One or more TSUIDs did not share the same metric [%X] [%X]", tsuids[0][:width], tsuid[:width])}
		}
		tsuids = append(tsuids, tsuid)
	}
	named, err := e.catalog.NameLost(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	found := make([]storage.Found, 0, len(named))
	for _, s := range named {
		refs, err := e.catalog.Refs([][]byte{s.TSUID})
		if err != nil {
			return nil, err
		}
		found = append(found, storage.Found{Ref: refs[0], Series: s.Series})
	}
	return found, nil
}

// parseTSUID reads hexadecimal digits.
func parseTSUID(text string) ([]byte, error) {
	var b []byte
	if _, err := fmt.Sscanf(strings.ToLower(text), "%x", &b); err != nil || len(text) == 0 || len(text)%2 != 0 || 2*len(b) != len(text) {
		return nil, fmt.Errorf("For input string: %q", text)
	}
	return b, nil
}

// idsOf looks up the UIDs of names.
func (e *finder) idsOf(ctx context.Context, kind storage.NameKind, names []string) (func(string) ID, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	uids, err := e.names.Lookup(ctx, kind, names)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]string, len(names))
	for i, name := range names {
		byName[name] = uids[i]
	}
	return func(name string) ID { return ID{byName[name], name} }, nil
}

func (e *finder) knownTag(ctx context.Context, t LookupTag) error {
	var errs []error
	if !isAny(t.Key) {
		errs = append(errs, e.known(ctx, storage.TagKeyName, "tagk", t.Key))
	}
	if !isAny(t.Value) {
		errs = append(errs, e.known(ctx, storage.TagValueName, "tagv", t.Value))
	}
	return errors.Join(errs...)
}

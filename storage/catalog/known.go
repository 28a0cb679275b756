package catalog

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// NamesOf returns the names of a kind that a series has.
func NamesOf(s *storage.Series, kind storage.NameKind) []string {
	if kind == storage.MetricName {
		return []string{s.Metric}
	}
	names := make([]string, len(s.Tags))
	for i, t := range s.Tags {
		if names[i] = t.Key; kind == storage.TagValueName {
			names[i] = t.Value
		}
	}
	return names
}

// Known reports of each series whether it exists, in the index or in tsdb-meta. It assigns nothing.
func (cat *Catalog) Known(ctx context.Context, all []storage.Series) ([]bool, error) {
	exists := make([]bool, len(all))
	var uids [3]map[string]string
	for _, kind := range storage.NameKinds() {
		known, err := cat.uidsOf(ctx, kind, all)
		if err != nil {
			return nil, err
		}
		uids[kind] = known
	}
	var asked []int
	var keys [][]byte
	for i := range all {
		tsuid, ok := cat.tsuidBy(&all[i], &uids)
		if !ok {
			continue
		}
		if _, exists[i] = cat.index.Lookup(tsuid); !exists[i] {
			asked, keys = append(asked, i), append(keys, tsuid)
		}
	}
	if len(keys) == 0 || cat.db.Exclusive && cat.registry.Loaded() {
		return exists, nil
	}
	rows, err := cat.db.Get(ctx, cat.o.Tables.Meta, schema.FamilyMeta, keys)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", cat.o.Tables.Meta, err)
	}
	for n, row := range rows {
		exists[asked[n]] = len(row.Cells) > 0
	}
	return exists, nil
}

// uidsOf returns the UIDs of all names of a kind that have one.
func (cat *Catalog) uidsOf(ctx context.Context, kind storage.NameKind, all []storage.Series) (map[string]string, error) {
	known := map[string]string{}
	var names []string
	for i := range all {
		for _, name := range NamesOf(&all[i], kind) {
			if _, ok := known[name]; !ok {
				known[name] = ""
				names = append(names, name)
			}
		}
	}
	uids, err := cat.uids.Lookup(ctx, kind, names)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		known[name] = uids[i]
	}
	return known, nil
}

// tsuidBy makes the TSUID of a series, if all of its names have UIDs.
func (cat *Catalog) tsuidBy(of *storage.Series, uids *[3]map[string]string) (tsuid []byte, ok bool) {
	metric := uids[storage.MetricName][of.Metric]
	ok = metric != "" && len(of.Tags) > 0
	pairs := make([]schema.Pair, 0, len(of.Tags))
	for _, t := range of.Tags {
		key, value := uids[storage.TagKeyName][t.Key], uids[storage.TagValueName][t.Value]
		ok = ok && key != "" && value != ""
		pairs = append(pairs, schema.Pair{Key: []byte(key), Value: []byte(value)})
	}
	if !ok {
		return nil, false
	}
	return cat.layout.AppendTSUID(nil, []byte(metric), pairs), true
}

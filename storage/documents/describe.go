package documents

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// DescribeSeries returns OpenTSDB's documents of series and of their UIDs, in order; nil for a series
// without a TSMeta document. A UID without a name has an empty one.
func (d *Documents) DescribeSeries(ctx context.Context, tsuids [][]byte) ([]*schema.DescribedSeries, error) {
	all := make([]*schema.DescribedSeries, 0, len(tsuids))
	for len(tsuids) > 0 {
		n := min(len(tsuids), metaRowsPerGet)
		some, err := d.describeSeries(ctx, tsuids[:n])
		if err != nil {
			return nil, err
		}
		all, tsuids = append(all, some...), tsuids[n:]
	}
	return all, nil
}

func (d *Documents) describeSeries(ctx context.Context, tsuids [][]byte) ([]*schema.DescribedSeries, error) {
	var keys [][]byte
	var at []int
	for i, tsuid := range tsuids {
		if _, _, err := d.layout.ParseTSUID(tsuid); err == nil {
			keys, at = append(keys, tsuid), append(at, i)
		}
	}
	rows, err := d.db.Get(ctx, d.o.Tables.Meta, schema.FamilyMeta, keys)
	if err != nil {
		return nil, fmt.Errorf("read the documents of %d series: %w", len(keys), err)
	}
	found := make([]*schema.DescribedSeries, len(tsuids))
	var uids uidSets
	for n, row := range rows {
		s := d.seriesOf(row)
		if s == nil {
			continue
		}
		found[at[n]] = s
		for kind, uid := range s.UIDs() {
			uids.add(kind, uid.UID)
		}
	}
	described, err := d.describe(ctx, uids)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		if s != nil {
			for kind, uid := range s.UIDs() {
				*uid = described[kind][string(uid.UID)]
			}
		}
	}
	return found, nil
}

// seriesOf reads the row of a series in tsdb-meta, nil without a document that can be read. Of its
// UIDs only the numbers are known.
func (d *Documents) seriesOf(row kv.Row) *schema.DescribedSeries {
	raw := metaDocument(row)
	metric, tags, broken := d.layout.ParseTSUID(row.Key)
	if raw == nil || broken != nil {
		return nil
	}
	document, err := d.parseTSMeta(row.Key, raw)
	if err != nil {
		return nil // told of; a TSD leaves it out too
	}
	s := &schema.DescribedSeries{TSMeta: document}
	if s.TSUID == "" {
		s.TSUID = schema.FormatTSUID(row.Key)
	}
	for _, c := range row.Cells {
		if string(c.Qualifier) == string(schema.CounterQualifier()) && len(c.Value) == 8 {
			s.Points, s.LastReceived = int64(binary.BigEndian.Uint64(c.Value)), c.Time/1000
		}
	}
	s.Metric.UID = metric
	for key, value := range d.layout.Pairs(tags) {
		s.Tags = append(s.Tags, schema.DescribedUID{UID: key}, schema.DescribedUID{UID: value})
	}
	return s
}

// uidSets are UIDs by kind, each once.
type uidSets [3]map[string]bool

func (s *uidSets) add(kind storage.NameKind, uid []byte) {
	if s[kind] == nil {
		s[kind] = map[string]bool{}
	}
	s[kind][string(uid)] = true
}

// describe returns the documents of UIDs, by kind and UID.
func (d *Documents) describe(ctx context.Context, uids uidSets) (described [3]map[string]schema.DescribedUID, err error) {
	for _, kind := range storage.NameKinds() {
		var wanted []string
		var rows [][]byte
		for uid := range uids[kind] {
			wanted, rows = append(wanted, uid), append(rows, []byte(uid))
		}
		names, err := d.uids.Names(ctx, kind, wanted)
		if err != nil {
			return described, err
		}
		documents, err := d.db.Get(ctx, d.o.Tables.UID, schema.FamilyName, rows)
		if err != nil {
			return described, fmt.Errorf("read the documents of %d %s UIDs: %w", len(rows), kind, err)
		}
		described[kind] = make(map[string]schema.DescribedUID, len(wanted))
		for i, uid := range wanted {
			one := schema.DescribedUID{UID: rows[i], Name: names[i]}
			for _, c := range documents[i].Cells {
				if string(c.Qualifier) != string(schema.UIDMetaQualifier(kind)) {
					continue
				}
				if m, err := d.parseUIDMeta(kind, rows[i], c.Value); err == nil {
					one.UIDMeta = m // else it was told of, and the name is shown
				}
			}
			one.Type = strings.ToUpper(kind.String())
			described[kind][uid] = one
		}
	}
	return described, nil
}

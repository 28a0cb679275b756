package read

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// sweepTask is one read of a sweep: a scan, or rows by key.
type sweepTask struct {
	plan    int // in the sweep's
	members []member
	scan    kv.Scan // of rows by key: without a table
	from    int     // of rows by key: the first one, in the order of the keys
	rows    int
}

// tasks cuts the plans into reads.
func (s *sweep) tasks(ctx context.Context) ([]sweepTask, error) {
	var tasks []sweepTask
	members := s.members
	for i := range s.plans {
		p := &s.plans[i]
		some := members[:p.series]
		members = members[p.series:]
		s.chose(p.kind)
		if !p.kind.scans() {
			for from, all := 0, p.series*s.hours(); from < all; from += rowsPerGet {
				tasks = append(tasks, sweepTask{plan: i, members: some, from: from, rows: min(rowsPerGet, all-from)})
			}
			continue
		}
		scans, err := s.cutScan(ctx, p, some)
		if err != nil {
			return nil, err
		}
		for _, scan := range scans {
			tasks = append(tasks, sweepTask{plan: i, members: some, scan: scan})
		}
	}
	return tasks, nil
}

// cutRows is how many rows are worth a scan of their own.
const cutRows = 4096

// cutScan cuts the scan of a plan where regions begin, and further if these are few: by hours, and
// within an hour where a share of the wanted series begins.
func (s *sweep) cutScan(ctx context.Context, p *plan, members []member) ([]kv.Scan, error) {
	first, last := members[0], members[len(members)-1]
	scan := row.ScanMetric(s.o.Layout, s.o.Table, first.bucket, first.tsuid[:s.o.Layout.MetricWidth], s.first, s.last)
	scan.Start = s.rowKey(first, s.first)
	scan.Stop = append(s.rowKey(last, s.last), 0)
	scan.Match = s.serverMatch(p, members)
	want := min((sweepTasks+len(s.plans)-1)/len(s.plans), 1+int(p.have)/cutRows)
	if want < 2 {
		return []kv.Scan{scan}, nil
	}
	parts := []kv.Scan{scan}
	if v := s.o.DB.Versioned; v != nil {
		var err error
		if parts, err = v.Split(ctx, scan, want); err != nil {
			return nil, err
		}
	}
	if len(parts) >= want {
		return parts, nil
	}
	var keys [][]byte
	for i := 1; i < want; i++ {
		at := i * s.pastHours() * len(members) / want
		keys = append(keys, s.rowKey(members[at%len(members)], s.first+uint32(at/len(members)*schema.RowSeconds)))
	}
	var cut []kv.Scan
	for _, part := range parts {
		cut = append(cut, kv.SplitAt(part, keys)...)
	}
	return cut, nil
}

func (r *selection) rowKey(m member, base uint32) []byte {
	return r.o.Layout.AppendRowKey(nil, []byte(m.tsuid), base)
}

// serverMatch is what the server looks for; nil: it returns all rows.
func (s *sweep) serverMatch(p *plan, members []member) *kv.Match {
	if p.kind == planRange {
		return nil
	}
	m := &kv.Match{Prefix: s.o.Layout.PrefixWidth(), Key: s.o.Layout.TagkWidth, Value: s.o.Layout.TagvWidth}
	if p.kind == planRegexp {
		m.Tags = p.tags
		return m
	}
	for i := range members {
		m.Suffixes = append(m.Suffixes, []byte(members[i].tsuid[s.o.Layout.MetricWidth:]))
	}
	return m
}

func (t sweepTask) run(ctx context.Context, s *sweep) error {
	if t.scan.Table == "" {
		return t.get(ctx, s)
	}
	metric := t.members[0].tsuid[:s.o.Layout.MetricWidth]
	if err := t.scanRows(ctx, s); err != nil {
		return fmt.Errorf("scan the rows of metric %x: %w", metric, err)
	}
	return nil
}

// scanRows keeps the wanted rows of a scan.
func (t sweepTask) scanRows(ctx context.Context, s *sweep) error {
	read := &s.reads[t.plan]
	var seen seenRows
	var over atomic.Int64 // rows that the server went over
	if t.scan.Match != nil {
		t.scan.RowsRead = &over
	}
	at, packed := -1, []byte(nil)
	defer func() {
		kind := s.plans[t.plan].kind
		s.metrics.selectRows[kind].Add(float64(seen.Rows))
		s.count(kind, max(over.Load(), seen.Rows), seen)
		if t.scan.Match == nil {
			read.Add(seen.Rows)
		} else {
			read.Add(over.Load())
		}
	}()
	return s.o.DB.Rows.ScanStored(ctx, t.scan, func(rowKey []byte, cells []kv.StoredCell) error {
		seen.add(cells)
		key, err := s.o.Layout.ParseRowKey(rowKey)
		if err != nil {
			return err
		}
		var found bool
		if at, found = t.find(key.Tags, at, s.o.Layout.MetricWidth); !found {
			return nil
		}
		packed = appendPacked(packed[:0], cells)
		return s.keep(t.members[at].at, key.Base, packed)
	})
}

// find looks for the member with the tags, which mostly is the one after the last.
func (t sweepTask) find(tags []byte, last, width int) (at int, found bool) {
	if next := last + 1; next < len(t.members) && t.members[next].tsuid[width:] == string(tags) {
		return next, true
	}
	return slices.BinarySearchFunc(t.members, string(tags), func(m member, tags string) int { return strings.Compare(m.tsuid[width:], tags) })
}

// get keeps rows that it asks for by key, in the order of the keys: hour by hour.
func (t sweepTask) get(ctx context.Context, s *sweep) error {
	keys := make([][]byte, 0, t.rows)
	at := func(i int) (member, uint32) {
		n := t.from + i
		return t.members[n%len(t.members)], s.first + uint32(n/len(t.members)*schema.RowSeconds)
	}
	for i := range t.rows {
		keys = append(keys, s.rowKey(at(i)))
	}
	var packed []byte
	var seen seenRows
	kind := s.plans[t.plan].kind
	err := s.o.DB.Rows.GetStored(ctx, s.o.Table, schema.FamilyData, keys, kind == planNear, func(i int, cells []kv.StoredCell) error {
		seen.add(cells)
		m, base := at(i)
		packed = appendPacked(packed[:0], cells)
		return s.keep(m.at, base, packed)
	})
	if err != nil {
		return fmt.Errorf("read %d rows: %w", len(keys), err)
	}
	s.reads[t.plan].Add(int64(len(keys)))
	s.metrics.selectRows[kind].Add(float64(len(keys)))
	s.count(kind, int64(len(keys)), seen)
	return nil
}

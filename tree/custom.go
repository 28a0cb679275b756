package tree

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// customs are the custom fields of UIDMeta documents, read from tsdb-uid for the series of one
// call: they may change at any time, and hardly any tree asks for them.
type customs struct {
	db     kv.KV
	table  string
	fields [3]map[string]map[string]string // by kind: name -> fields
}

// readCustoms reads the fields that the rules of the trees ask of the series.
func readCustoms(ctx context.Context, db kv.KV, table string, trees []*Tree, series []storage.Series) (*customs, error) {
	c := &customs{db: db, table: table}
	for kind := range c.fields {
		c.fields[kind] = map[string]map[string]string{}
	}
	for _, t := range trees {
		if !t.needsCustom() {
			continue
		}
		for _, level := range t.levels {
			for _, r := range level {
				c.want(r, series)
			}
		}
	}
	for kind, names := range c.fields {
		if err := c.read(ctx, storage.NameKind(kind), names); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *customs) want(r *rule, series []storage.Series) {
	if !r.custom() {
		return
	}
	for i := range series {
		if kind, name, ok := r.described(Subject{Series: series[i]}); ok {
			c.fields[kind][name] = nil
		}
	}
}

// read fills in the fields of names: their UIDs, then the documents of those.
func (c *customs) read(ctx context.Context, kind storage.NameKind, names map[string]map[string]string) error {
	var wanted []string
	var rows [][]byte
	for name := range names {
		if row, err := schema.EncodeName(name); err == nil {
			wanted, rows = append(wanted, name), append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	forward, err := c.db.Get(ctx, c.table, schema.FamilyID, rows)
	if err != nil {
		return fmt.Errorf("read the UIDs of %d %s names: %w", len(rows), kind, err)
	}
	known, uids := wanted[:0], rows[:0]
	for i, row := range forward {
		if uid := cellOf(row, schema.UIDQualifier(kind)); uid != nil {
			known, uids = append(known, wanted[i]), append(uids, uid)
		}
	}
	if len(uids) == 0 {
		return nil
	}
	documents, err := c.db.Get(ctx, c.table, schema.FamilyName, uids)
	if err != nil {
		return fmt.Errorf("read UIDMeta of %d %s names: %w", len(uids), kind, err)
	}
	for i, row := range documents {
		if raw := cellOf(row, schema.UIDMetaQualifier(kind)); raw != nil {
			// a TSD cannot read a broken one either
			if m, err := schema.ParseUIDMeta(raw); err == nil {
				names[known[i]] = m.Custom.Map()
			}
		}
	}
	return nil
}

func (c *customs) of(kind storage.NameKind, name string) map[string]string {
	return c.fields[kind][name]
}

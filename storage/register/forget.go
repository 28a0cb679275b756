package register

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Forget takes series that have no points out of tsdb-meta, the trees and the index, durably. Their
// UIDs stay assigned: other series and other processes may use them. Series that are not there any
// more are no error. A series that comes back is registered anew.
//
// tsdb-meta comes first: what adds all series of tsdb-meta to a tree must not bring them back. The
// index comes last: until then they count as registered, and no other call registers them. After an
// error Forget must be called again.
//
// On tables that other processes write to, series stay whose row of tsdb-meta was written after
// until (milliseconds): another process has registered them anew.
func (reg *Registrar) Forget(ctx context.Context, ids []index.ID, until int64) error {
	if len(ids) == 0 {
		return nil
	}
	release, err := reg.naming.keep(ctx)
	if err != nil {
		return err
	}
	defer release()
	rows, ids, err := reg.metaRows(ctx, ids, until)
	if err != nil {
		return err
	}
	gone, err := reg.named(ctx, ids)
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	if len(rows) > 0 {
		if err := reg.db.Apply(ctx, reg.meta, schema.FamilyMeta, rows); err != nil {
			return fmt.Errorf("delete rows of %s: %w", reg.meta, err)
		}
	}
	if reg.observer != nil {
		if err := reg.observer.Forget(ctx, gone); err != nil {
			return fmt.Errorf("take series out of the trees: %w", err)
		}
	}
	reg.registry.Forget(ids)
	return nil
}

// metaRows returns the deletions of the rows of tsdb-meta, and the series that have none left
// afterwards.
func (reg *Registrar) metaRows(ctx context.Context, ids []index.ID, until int64) (rows []kv.Mutation, gone []index.ID, err error) {
	tsuids := reg.index.TSUIDBytes(nil, ids)
	if reg.exclusive {
		for _, tsuid := range tsuids {
			rows = append(rows, kv.Mutation{Key: tsuid, DeleteRow: true})
		}
		return rows, ids, nil
	}
	held, err := reg.db.Get(ctx, reg.meta, schema.FamilyMeta, tsuids)
	if err != nil {
		return nil, nil, fmt.Errorf("read rows of %s: %w", reg.meta, err)
	}
	for i, h := range held {
		if slices.ContainsFunc(h.Cells, func(c kv.Cell) bool { return c.Time > until }) {
			continue
		}
		if gone = append(gone, ids[i]); len(h.Cells) > 0 {
			// with the stamps of the cells: what another process puts meanwhile stays
			rows = append(rows, kv.Mutation{Key: tsuids[i], Deletes: kv.DeletesOf(nil, h.Cells)})
		}
	}
	return rows, gone, nil
}

// Follow takes those of some series out of the index and out of what the observer has in memory
// whose rows of tsdb-meta another process has deleted.
func (reg *Registrar) Follow(ctx context.Context, ids []index.ID) error {
	if len(ids) == 0 {
		return nil
	}
	release, err := reg.naming.keep(ctx)
	if err != nil {
		return err
	}
	defer release()
	held, err := reg.db.Get(ctx, reg.meta, schema.FamilyMeta, reg.index.TSUIDBytes(nil, ids))
	if err != nil {
		return fmt.Errorf("read rows of %s: %w", reg.meta, err)
	}
	var gone []index.ID
	for i, h := range held {
		if len(h.Cells) == 0 {
			gone = append(gone, ids[i])
		}
	}
	named, err := reg.named(ctx, gone)
	if err != nil {
		return err
	}
	if reg.observer != nil {
		if err := reg.observer.Forgotten(ctx, named); err != nil {
			return fmt.Errorf("take series out of the trees in memory: %w", err)
		}
	}
	reg.registry.Forget(gone)
	return nil
}

// named returns the series with their names, for the observer. Those of which a UID has lost its
// name are left out.
func (reg *Registrar) named(ctx context.Context, ids []index.ID) ([]storage.NewSeries, error) {
	if reg.observer == nil || len(ids) == 0 {
		return nil, nil
	}
	found, err := reg.catalog.NameSome(ctx, ids)
	if err != nil {
		return nil, err
	}
	named := make([]storage.NewSeries, len(found))
	for i, f := range found {
		named[i] = storage.NewSeries{TSUID: []byte(reg.index.TSUID(index.IDOf(f.Ref))), Series: f.Series}
	}
	return named, nil
}

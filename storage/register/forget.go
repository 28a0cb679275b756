package register

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// Forget takes series that have no points out of tsdb-meta, the trees and the index, durably. Their
// UIDs stay assigned: other series and other processes may use them. Series that are not there any
// more are no error. A series that comes back is registered anew.
//
// tsdb-meta comes first: what adds all series of tsdb-meta to a tree must not bring them back. The
// index comes last: until then they count as registered, and no other call registers them. After an
// error Forget must be called again.
func (reg *Registrar) Forget(ctx context.Context, ids []index.ID) error {
	if len(ids) == 0 {
		return nil
	}
	gone, err := reg.named(ctx, ids)
	if err != nil {
		return err
	}
	rows := make([]kv.Mutation, len(ids))
	for i, tsuid := range reg.index.TSUIDBytes(nil, ids) {
		rows[i] = kv.Mutation{Key: tsuid, DeleteRow: true}
	}
	slices.SortFunc(rows, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	if err := reg.db.Apply(ctx, reg.meta, schema.FamilyMeta, rows); err != nil {
		return fmt.Errorf("delete rows of %s: %w", reg.meta, err)
	}
	if reg.observer != nil {
		if err := reg.observer.Forget(ctx, gone); err != nil {
			return fmt.Errorf("take series out of the trees: %w", err)
		}
	}
	reg.registry.Forget(ids)
	return nil
}

// named returns the series with their names, for the observer. Those of which a UID has lost its
// name are left out.
func (reg *Registrar) named(ctx context.Context, ids []index.ID) ([]series.NewSeries, error) {
	if reg.observer == nil {
		return nil, nil
	}
	found, err := reg.catalog.Name(ctx, ids)
	if err != nil {
		return nil, err
	}
	named := make([]series.NewSeries, len(found))
	for i, f := range found {
		named[i] = series.NewSeries{TSUID: []byte(reg.index.TSUID(f.Ref.ID())), Series: f.Series}
	}
	return named, nil
}

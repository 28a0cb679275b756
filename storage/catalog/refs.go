package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// TSUIDOf returns the TSUID of a series that was resolved or found.
func (cat *Catalog) TSUIDOf(ref series.Ref) []byte { return []byte(cat.index.TSUID(ref.ID())) }

// TSUIDsOf appends the TSUIDs of series that were resolved or found to dst, in order. They never change, and must not
// be changed.
func (cat *Catalog) TSUIDsOf(dst [][]byte, refs []series.Ref) [][]byte {
	ids := make([]index.ID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID()
	}
	return cat.index.TSUIDBytes(dst, ids)
}

// NameRefs names series that are known by their refs, in order. Those whose UIDs have lost their names
// are left out.
func (cat *Catalog) NameRefs(ctx context.Context, refs []series.Ref) ([]series.Found, error) {
	ids := make([]index.ID, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID()
	}
	return cat.Name(ctx, ids)
}

// Refs returns the refs of series that are known by their TSUIDs (the leaves of trees), in order.
// One that the index lacks is added: a TSD without meta tracking may have appended it to a tree. A
// TSUID that is not of the layout's widths gets the zero Ref, and an ErrInvalid is returned with
// the refs of the others.
func (cat *Catalog) Refs(tsuids [][]byte) ([]series.Ref, error) {
	refs := make([]series.Ref, len(tsuids))
	var errs []error
	for i, tsuid := range tsuids {
		id, _, err := cat.index.Add(tsuid)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: TSUID %x: %w", series.ErrInvalid, tsuid, err))
			continue
		}
		refs[i] = series.RefOf(id)
	}
	return refs, errors.Join(errs...)
}

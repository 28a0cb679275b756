package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// TSUIDOf returns the TSUID of a series that was resolved or found.
func (cat *namer) TSUIDOf(ref storage.Ref) []byte { return []byte(cat.index.TSUID(index.IDOf(ref))) }

// TSUIDsOf appends the TSUIDs of series that were resolved or found to dst, in order. They never change, and must not
// be changed.
func (cat *namer) TSUIDsOf(dst [][]byte, refs []storage.Ref) [][]byte {
	ids := make([]index.ID, len(refs))
	for i, ref := range refs {
		ids[i] = index.IDOf(ref)
	}
	return cat.index.TSUIDBytes(dst, ids)
}

// NameRefs names series that are known by their refs, in order. Those whose UIDs have lost their names
// are left out.
func (cat *namer) NameRefs(ctx context.Context, refs []storage.Ref) ([]storage.Found, error) {
	ids := make([]index.ID, len(refs))
	for i, ref := range refs {
		ids[i] = index.IDOf(ref)
	}
	return cat.Name(ctx, ids)
}

// Refs returns the refs of series that are known by their TSUIDs (the leaves of trees), in order.
// One that the index lacks is added: a TSD without meta tracking may have appended it to a tree. A
// TSUID that is not of the layout's widths gets the zero Ref, and an ErrInvalid is returned with
// the refs of the others.
func (cat *namer) Refs(tsuids [][]byte) ([]storage.Ref, error) {
	refs := make([]storage.Ref, len(tsuids))
	var errs []error
	for i, tsuid := range tsuids {
		id, _, err := cat.index.Add(tsuid)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: TSUID %x: %w", storage.ErrInvalid, tsuid, err))
			continue
		}
		refs[i] = index.RefOf(id)
	}
	return refs, errors.Join(errs...)
}

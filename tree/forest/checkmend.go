package forest

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// mend changes rows. Deletions have the stamps of the cells that were read, so that what another
// process puts meanwhile stays; branches are put only where there is none.
func (w *check) mend(ctx context.Context, rows []*checkedRow) error {
	var mutations []kv.Mutation
	for _, r := range rows {
		for _, parent := range r.parents {
			c := kv.Column{Table: w.o.TreeTable, Family: schema.FamilyData, Row: parent.Key, Qualifier: parent.Puts[0].Qualifier}
			if _, err := w.db.CheckAndPut(ctx, c, nil, parent.Puts[0].Value); err != nil {
				return fmt.Errorf("put branch %x: %w", parent.Key, err)
			}
		}
		if r.gone {
			r.deletes = kv.DeletesOf(nil, r.Cells)
		}
		if len(r.deletes) > 0 {
			mutations = append(mutations, kv.Mutation{Key: r.Key, Deletes: r.deletes})
		}
	}
	if len(mutations) > 0 {
		if err := w.db.Apply(ctx, w.o.TreeTable, schema.FamilyData, mutations); err != nil {
			return fmt.Errorf("mend %d rows of %s: %w", len(mutations), w.o.TreeTable, err)
		}
	}
	for _, r := range rows {
		w.noteMended(r)
	}
	return w.forest.engine.Flush(ctx) // a local engine owes that for branches
}

// noteMended notes which findings are gone: those whose mend was made, and has nothing left.
func (w *check) noteMended(r *checkedRow) {
	for i := range r.list {
		f := &r.list[i]
		f.Mended = w.fix[f.Kind] && w.o.Mends && f.Left == "" && (f.Kind != fsck.OrphanBranch || len(r.parents) > 0)
	}
}

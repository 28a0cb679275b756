package uid

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Suggest returns the first names of a kind that have a UID and a prefix, in the order of their
// bytes, at most so many. It reads the table, so names of other processes are among them.
func (t *mappings) Suggest(ctx context.Context, kind storage.NameKind, prefix string, most int) ([]string, error) {
	var start []byte // no name is empty
	if prefix != "" {
		var err error
		if start, err = schema.EncodeName(prefix); err != nil {
			return nil, nil // no name that OpenTSDB can hold begins so
		}
	}
	names := []string{}
	scan := kv.Scan{Table: t.table, Family: schema.FamilyID, Start: start, Stop: after(start), Qualifier: schema.UIDQualifier(kind), Limit: most + 1}
	for row, err := range t.db.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("read the names of a %s: %w", kind, err)
		}
		if len(names) == most {
			break
		}
		if string(row.Key) != string(schema.MaxIDRow()) {
			names = append(names, schema.DecodeName(row.Key))
		}
	}
	return names, nil
}

// after returns the first key behind all keys with a prefix; nil: there is none.
func after(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xFF {
			out := append([]byte(nil), prefix[:i+1]...)
			out[i]++
			return out
		}
	}
	return nil
}

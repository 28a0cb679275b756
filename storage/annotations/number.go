package annotations

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Number returns a number above a bound that no other call returns, in this process or in another
// one on the same tables. Some numbers may be skipped. It is durable when an annotation is that is
// put afterwards.
func (a *Annotations) Number(ctx context.Context, above int64) (int64, error) {
	if err := a.o.Ready(); err != nil {
		return 0, err
	}
	counter := kv.Column{Table: a.o.Tree, Family: schema.FamilyData, Row: schema.AnnotationNumberKey(), Qualifier: []byte(schema.AnnotationNumberQualifier)}
	n, err := a.o.DB.Increment(ctx, counter, 1)
	if err == nil && n <= above {
		n, err = a.o.DB.Increment(ctx, counter, above-n+1)
	}
	if err != nil {
		return 0, fmt.Errorf("count annotations: %w", err)
	}
	return n, nil
}

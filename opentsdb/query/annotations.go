package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Notes lists annotations; those of a store are one.
type Notes interface {
	List(ctx context.Context, r storage.AnnotationRange, limit int) ([]storage.Annotation, error)
}

// MaxGlobals bounds the global annotations of an answer.
const MaxGlobals = 100_000

// noteBytes is what the budget counts for an annotation, in addition to twice its document.
const noteBytes = 256

// parseAnnotations reads the documents of a series' rows. As in a TSD, one that cannot be read fails the query.
func parseAnnotations(ctx context.Context, documents [][]byte) (list []storage.Annotation, err error) {
	if len(documents) == 0 {
		return nil, nil
	}
	size := 0
	for _, document := range documents {
		size += 2*len(document) + noteBytes
	}
	if err := query.AccountOf(ctx).Take(int64(size)); err != nil {
		return nil, err
	}
	for _, document := range documents {
		a, err := schema.ParseAnnotation(document)
		if err != nil {
			return nil, storage.RowError{Err: fmt.Errorf("an annotation (cell 01…) that begins with %.60q cannot be read: %w; "+
				"tsdbridge fsck finds it, and --fix=bad-annotation deletes it", document, err)}
		}
		list = append(list, a)
	}
	return list, nil
}

// shown returns the annotations that a request shows of those of the rows that it reads, in a TSD's
// order: by their starts as they were given, so that milliseconds come after seconds. It is nil
// without any in these rows, and empty if all are outside the time of the request. It sorts in place.
func (r *Request) shown(list []storage.Annotation) []storage.Annotation {
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b storage.Annotation) int { return cmp.Compare(a.Start, b.Start) })
	return slices.DeleteFunc(list, func(a storage.Annotation) bool {
		at := schema.MillisOf(a.Start)
		return at < r.start || at > r.end
	})
}

// GlobalsOf returns the global annotations of a request: those that end in its time too; nil: it shows
// none.
func (e *Engine) GlobalsOf(ctx context.Context, r *Request) ([]storage.Annotation, error) {
	if r.NoAnnotations || !r.GlobalAnnotations {
		return nil, nil
	}
	list, err := e.Globals(ctx, r.start/1000, r.end/1000)
	return r.shown(list), err
}

// Globals returns the global annotations that a TSD finds between two times (seconds), in the order of
// the table. It reads whole hours: a note must not start before start nor end after end, but may
// start after end in the same hour.
func (e *Engine) Globals(ctx context.Context, start, end int64) ([]storage.Annotation, error) {
	const hourMillis = schema.RowSeconds * 1000
	hours := storage.AnnotationRange{From: start * 1000 / hourMillis * hourMillis, To: (end*1000/hourMillis+1)*hourMillis - 1}
	list, err := e.o.Notes.List(ctx, hours, MaxGlobals)
	return slices.DeleteFunc(list, func(a storage.Annotation) bool {
		return a.Start < start || a.End != 0 && schema.MillisOf(a.End) > end*1000+999
	}), err
}

func appendAnnotations(dst []byte, list []storage.Annotation) []byte {
	dst = append(dst, '[')
	for i, a := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = schema.AppendShownAnnotation(dst, a)
	}
	return append(dst, ']')
}

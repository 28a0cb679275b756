package annotations

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// noteBytes is what an annotation takes in memory, by estimate, in addition to its document.
const noteBytes = 256

// List returns the annotations of a range in the order of the table: by hours. More than limit, if
// it is above 0, are an ErrLimit. One that cannot be read is an ErrUnreadable.
func (a *Annotations) List(ctx context.Context, r storage.AnnotationRange, limit int) (list []storage.Annotation, err error) {
	account := query.AccountOf(ctx)
	err = a.each(ctx, r, func(found storage.Annotation, size int) error {
		if limit > 0 && len(list) == limit {
			return fmt.Errorf("%w: there are more than %d annotations in this time", storage.ErrLimit, limit)
		}
		list = append(list, found)
		return account.Take(int64(2*size + noteBytes))
	})
	return list, err
}

// Each calls see for each annotation that List would list, and holds one hour of them at a time. An
// error of see ends it and is returned.
func (a *Annotations) Each(ctx context.Context, r storage.AnnotationRange, see func(storage.Annotation) error) error {
	return a.each(ctx, r, func(found storage.Annotation, _ int) error { return see(found) })
}

// each also tells how many bytes an annotation has as it is stored.
func (a *Annotations) each(ctx context.Context, r storage.AnnotationRange, see func(storage.Annotation, int) error) error {
	return a.eachFrom(ctx, r, nil, func(key []byte, base uint32, cells []kv.StoredCell) error {
		for _, c := range cells {
			found, err := a.parse(key, c.Qualifier, c.Value)
			if err != nil {
				offset, _ := schema.ForeignOffset(c.Qualifier)
				if at := schema.Time(base, offset); at < r.From || at > r.To {
					continue // it is of another time
				}
				return err
			}
			if at := schema.MillisOf(found.Start); at < r.From || at > r.To {
				continue
			}
			if err := see(found, len(c.Value)); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowsPerDelete is how many rows a deletion of a range changes at once.
const rowsPerDelete = 512

// errPause ends a scan before its end.
var errPause = errors.New("enough rows")

// DeleteRange deletes the annotations of a range, durably, and returns how many they were. The time
// is that of their cells. After an error some are deleted.
func (a *Annotations) DeleteRange(ctx context.Context, r storage.AnnotationRange) (deleted int, err error) {
	for at := []byte(nil); ; {
		rows, last, err := a.found(ctx, r, at)
		if err != nil {
			return deleted, err
		}
		if len(rows) > 0 {
			if err := a.delete(ctx, rows); err != nil {
				return deleted, err
			}
		}
		for _, m := range rows {
			deleted += len(m.Deletes)
		}
		if last == nil {
			return deleted, nil
		}
		at = append(last, 0)
	}
}

// found returns deletions of the annotations of a range in rows from a key on, and the last key if
// there may be more.
func (a *Annotations) found(ctx context.Context, r storage.AnnotationRange, from []byte) (rows []kv.Mutation, last []byte, err error) {
	err = a.eachFrom(ctx, r, from, func(key []byte, base uint32, cells []kv.StoredCell) error {
		m := kv.Mutation{Key: bytes.Clone(key)}
		for _, c := range cells {
			offset, _ := schema.ForeignOffset(c.Qualifier)
			if at := schema.Time(base, offset); at >= r.From && at <= r.To {
				m.Deletes = append(m.Deletes, kv.Delete{Qualifier: bytes.Clone(c.Qualifier)})
			}
		}
		if len(m.Deletes) == 0 {
			return nil
		}
		if rows = append(rows, m); len(rows) < rowsPerDelete {
			return nil
		}
		last = bytes.Clone(key)
		return errPause
	})
	if errors.Is(err, errPause) {
		err = nil
	}
	return rows, last, err
}

// eachFrom calls see for each row of a range, from a key on, that has annotations, with these alone.
// Key and cells are valid until see returns, whose error ends the scan and is returned.
func (a *Annotations) eachFrom(ctx context.Context, r storage.AnnotationRange, from []byte, see func(key []byte, base uint32, cells []kv.StoredCell) error) error {
	if r.From, r.To = max(r.From, 0), min(r.To, storage.MaxTime); r.From > r.To {
		return nil
	}
	if err := a.o.Ready(); err != nil {
		return err
	}
	tsuid, err := a.parseTSUID(r.TSUID)
	if err != nil {
		return err
	}
	scan := a.scan(tsuid, r)
	if from != nil {
		scan.Start = from
	}
	var seen error
	var found []kv.StoredCell
	err = a.o.DB.Rows.ScanStored(ctx, scan, func(key []byte, cells []kv.StoredCell) error {
		k, err := a.o.Layout.ParseRowKey(key)
		if err != nil || (len(k.Tags) == 0) != (tsuid == nil) {
			return nil //nolint:nilerr // of another layout: none of ours
		}
		found = found[:0]
		for _, c := range cells {
			if isAnnotation(c) {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			seen = see(key, k.Base, found)
		}
		return seen
	})
	switch {
	case seen != nil:
		return seen
	case err != nil:
		return fmt.Errorf("scan annotations: %w", err)
	}
	return nil
}

// scan returns the scan of the rows of a range.
func (a *Annotations) scan(tsuid []byte, r storage.AnnotationRange) kv.Scan {
	l, lo, hi := a.o.Layout, schema.Base(r.From), schema.Base(r.To)
	if tsuid == nil {
		return row.ScanMetric(l, a.o.Table, 0, string(make([]byte, l.MetricWidth)), lo, hi)
	}
	scan := row.ScanMetric(l, a.o.Table, l.Bucket(tsuid), string(tsuid[:l.MetricWidth]), lo, hi)
	scan.Match = &kv.Match{Prefix: l.PrefixWidth(), Key: l.TagkWidth, Value: l.TagvWidth, Suffixes: [][]byte{tsuid[l.MetricWidth:]}}
	return scan
}

package write

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// logOptions are those by which one of the two logs is read.
func (o BufferOptions) logOptions(name string) log.Options {
	read := log.Options{Dir: filepath.Join(o.Dir, name), FS: o.FS, MarkPath: o.markPath(name)}
	if name == "points" {
		read.AtLeast = log.Position(o.AtLeast)
	}
	return read
}

// CheckLog reads a log that is not open and tells, in words, what of it is missing or broken.
// Nothing is changed.
func (o BufferOptions) CheckLog(ctx context.Context) (problems []string, err error) {
	if o.Dir == "" {
		return nil, nil
	}
	for _, name := range []string{"series", "points"} {
		found, err := log.Salvage(ctx, o.logOptions(name), nil)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// ForgetLog makes the marks of a log forget it, whose files are about to be taken away.
func (o BufferOptions) ForgetLog() error {
	for _, name := range []string{"points", "series"} {
		if err := log.Unmark(cmp.Or[log.FS](o.FS, log.OS{}), o.markPath(name)); err != nil {
			return err
		}
	}
	return nil
}

// SalvageLog puts what can be read of a damaged log into the tables, in its order, and tells how
// many points that were, and how many records could not be put because the names of their series
// are lost. The store must not have the log open. The log is not changed; the engine forgets it.
func (w *Writer) SalvageLog(ctx context.Context, o BufferOptions) (points, left int, err error) {
	ids := map[uint32]index.ID{}
	_, err = log.Salvage(ctx, o.logOptions("series"), func(record []byte) error {
		_, err := w.salvageNumbers(ids, record)
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read the numbers of series in %s: %w", o.Dir, err)
	}
	ref := func(number uint32) series.Ref {
		if id, ok := ids[number]; ok {
			return series.RefOf(id)
		}
		return 0
	}
	var batch series.Batch
	_, err = log.Salvage(ctx, o.logOptions("points"), func(record []byte) error {
		batch.Reset()
		if _, err := parseRecord(&batch, record, ref); err != nil {
			if errors.Is(err, errRecord) {
				left++
				return nil
			}
			return err
		}
		points += len(batch.Refs) + len(batch.Objects)
		return w.Append(ctx, &batch)
	})
	if err != nil {
		return points, left, fmt.Errorf("put what is left of the log in %s: %w", o.Dir, err)
	}
	if keeper := w.o.DB.LogKeeper(); keeper != nil {
		err = keeper.NoteLog(kv.LogEnd{}, true)
	}
	return points, left, err
}

// salvageNumbers adds the numbers of a record, whatever came before it, but for those of series
// that the store does not have; it returns how many those are.
func (w *Writer) salvageNumbers(ids map[uint32]index.ID, record []byte) (unknown int, err error) {
	number, width := binary.Uvarint(record)
	if width <= 0 {
		return 0, nil
	}
	for rest := record[width:]; len(rest) > 0; number++ {
		length, width := binary.Uvarint(rest)
		if width <= 0 || length > uint64(len(rest)-width) {
			return unknown, nil
		}
		tsuid := rest[width : width+int(length)]
		rest = rest[width+int(length):]
		id, _, err := w.o.Series.Add(tsuid)
		if err != nil {
			return unknown, fmt.Errorf("series %x: %w", tsuid, err)
		}
		if !isOwn(w.o.registryOfLog(), id) {
			unknown++
			continue
		}
		ids[uint32(number)] = id
	}
	return unknown, nil
}

// UnknownInLog counts the series of a log that is not open and that the store does not have.
func (w *Writer) UnknownInLog(ctx context.Context, o BufferOptions) (unknown int, err error) {
	_, err = log.Salvage(ctx, o.logOptions("series"), func(record []byte) error {
		n, err := w.salvageNumbers(map[uint32]index.ID{}, record)
		unknown += n
		return err
	})
	return unknown, err
}

// UnknownText tells what it means that only a log has so many series.
func UnknownText(unknown int) string {
	return fmt.Sprintf("it has points of %d series that the store does not have: it belongs to another store, or the store is older than its log", unknown)
}

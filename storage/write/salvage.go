package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/storage/catalog"
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
	known := salvaged{index: w.o.Series, registry: w.o.registryOfLog()}
	if err := known.readSaved(ctx, o); err != nil {
		return 0, 0, err
	}
	deletions, err := w.salvageDeletions(ctx, o)
	if err != nil {
		return 0, 0, fmt.Errorf("read the deletions of the log in %s: %w", o.Dir, err)
	}
	var batch series.Batch
	_, err = log.Salvage(ctx, o.logOptions("points"), func(record []byte) error {
		if isDeletion(record) {
			return deletions.apply(ctx, record, w.deleter)
		}
		batch.Reset()
		if _, err := parseRecord(&batch, record, &known); err != nil {
			if errors.Is(err, errRecord) {
				left++
				return nil
			}
			return err
		}
		kept := deletions.leave(&batch)
		points += len(kept.Refs) + len(kept.Objects)
		return w.Append(ctx, kept)
	})
	if err != nil {
		return points, left, fmt.Errorf("put what is left of the log in %s: %w", o.Dir, err)
	}
	if keeper := w.o.DB.LogKeeper(); keeper != nil {
		err = keeper.NoteLog(kv.LogEnd{}, true)
	}
	return points, left, err
}

// UnknownInLog counts the series of a log that is not open and that the store does not have.
func (w *Writer) UnknownInLog(ctx context.Context, o BufferOptions) (unknown int, err error) {
	known := salvaged{index: w.o.Series, registry: w.o.registryOfLog()}
	if err := known.readSaved(ctx, o); err != nil {
		return 0, err
	}
	_, err = log.Salvage(ctx, o.logOptions("points"), func(record []byte) error {
		r := recordReader{rest: record}
		if _, _, err := r.head(known.note); err != nil && !errors.Is(err, errRecord) {
			return err
		}
		return nil
	})
	return len(known.unknown), err
}

// salvaged are the series of a log of which parts may be missing.
type salvaged struct {
	index    *index.Index
	registry *catalog.Registry // nil: that of tables that others write to
	ids      map[uint32]index.ID
	unknown  map[index.ID]struct{} // that the store does not have
	// numbers of series that were deleted
	forgotten map[uint32]struct{}
}

// readSaved reads the log of numbers.
func (s *salvaged) readSaved(ctx context.Context, o BufferOptions) error {
	s.forgotten = map[uint32]struct{}{}
	_, err := log.Salvage(ctx, o.logOptions("series"), func(record []byte) error {
		_, err := parseForgotten(s.forgotten, record)
		if errors.Is(err, errRecord) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the numbers of series in %s: %w", o.Dir, err)
	}
	_, err = log.Salvage(ctx, o.logOptions("series"), func(record []byte) error {
		first, tsuids, err := parseSaved(record)
		if err == nil {
			err = eachSaved(uint32(first), tsuids, s.note)
		}
		if errors.Is(err, errRecord) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the numbers of series in %s: %w", o.Dir, err)
	}
	return nil
}

// note takes the number of a series, whatever came before it, unless the store does not have the
// series.
func (s *salvaged) note(number uint32, tsuid []byte) error {
	if len(tsuid) == 0 {
		return nil
	}
	id, _, err := s.index.Add(tsuid)
	if err != nil {
		return fmt.Errorf("series %x: %w", tsuid, err)
	}
	if s.ids == nil {
		s.ids, s.unknown = map[uint32]index.ID{}, map[index.ID]struct{}{}
	}
	if isOwn(s.registry, id) {
		s.ids[number] = id
		return nil
	}
	if _, deleted := s.forgotten[number]; !deleted {
		s.unknown[id] = struct{}{}
		return nil
	}
	s.ids[number] = id // of a series that points may bring back
	s.registry.Forget([]index.ID{id})
	return nil
}

// ref returns the series of a number, 0 when the store does not have it.
func (s *salvaged) ref(number uint32) series.Ref {
	if id, ok := s.ids[number]; ok {
		return series.RefOf(id)
	}
	return 0
}

// UnknownText tells what it means that only a log has so many series.
func UnknownText(unknown int) string {
	return fmt.Sprintf("it has points of %d series that the store does not have: it belongs to another store, or the store is older than its log", unknown)
}

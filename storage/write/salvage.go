package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// logOptions are those by which one of the two logs is read.
func (o BufferOptions) logOptions(name string) log.Options {
	owner, _ := ownerOf(o.State)
	return o.owned(name, owner, log.Options{Dir: filepath.Join(o.Dir, name), FS: o.FS})
}

// LogFound is what CheckLog finds wrong.
type LogFound struct {
	Problems []string // in words; none: a start reads everything
	// Useless means that the records say nothing about these tables: they are those of another store,
	// or older, and putting them would bring back old values and what was deleted.
	Useless bool
}

// CheckLog reads a log that is not open and tells, in words, what of it is missing, broken, or of
// another store or time than the tables. Nothing is changed.
func (o BufferOptions) CheckLog(ctx context.Context) (found LogFound, err error) {
	if o.Dir == "" {
		return found, nil
	}
	owners, last, mixed := map[log.Owner]bool{}, lastGenerations{}, false
	for _, name := range []string{"series", "points"} {
		if left, err := o.hasEnded(name); left || err != nil {
			if err != nil {
				return found, err
			}
			continue
		}
		one, err := log.Salvage(ctx, o.logOptions(name), func(record []byte) error {
			last.see(name, record)
			return nil
		})
		if err != nil {
			return found, err
		}
		found.Problems, mixed = append(found.Problems, one.Problems...), mixed || one.Mixed
		if one.Owner != (log.Owner{}) {
			owners[one.Owner] = true
		}
	}
	found.compare(o.State, o.Dir, owners, last, mixed)
	return found, nil
}

// lastGenerations are the generations of the tables that the logs know last.
type lastGenerations struct{ points, series kv.Generation }

func (l *lastGenerations) see(name string, record []byte) {
	if name == "points" && isGeneration(record) {
		if g, err := parseGeneration(record); err == nil {
			l.points = g
		}
	}
	if name == "series" {
		if g, ok, err := parseSeriesGeneration(record); ok && err == nil {
			l.series = g
		}
	}
}

// compare compares the generations that the logs know last with the tables'.
func (f *LogFound) compare(s kv.LogState, dir string, owners map[log.Owner]bool, last lastGenerations, mixed bool) {
	if len(owners) == 0 || s.Store == 0 {
		return
	}
	for of := range owners {
		if last.points == (kv.Generation{}) {
			last.points = kv.Generation{Number: of.Number, Tag: of.Tag}
		}
		if of.Store != s.Store || len(owners) > 1 {
			f.Useless = true
			return
		}
	}
	if mixed { // the records of a log that goes on after the tables are what these lack
		f.Useless = last.points.Number <= s.Generation.Number
		return
	}
	if name, what := lineageDiffers(s, last); what != "" && s.Log != (kv.Generation{}) {
		f.Problems, f.Useless = append(f.Problems, filepath.Join(dir, name)+": "+what), last.points.Number <= s.Generation.Number
	}
}

// hasEnded reports whether one of the two logs is what is left of one that was ended in order.
func (o BufferOptions) hasEnded(name string) (bool, error) {
	if o.State.Log != (kv.Generation{}) || o.State.Ended == (kv.Generation{}) {
		return false, nil
	}
	at := anywhere()
	if name == "points" {
		at = log.Position(o.State.Points)
	}
	return log.HasEnded(o.logOptions(name), endedOwner(o.State), at)
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
	deletions, err := o.deletions(ctx, w.o.Series)
	if err != nil {
		return 0, 0, fmt.Errorf("read the deletions of the log in %s: %w", o.Dir, err)
	}
	var batch storage.Batch
	_, err = log.Salvage(ctx, o.logOptions("points"), func(record []byte) error {
		if isGeneration(record) {
			return nil
		}
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
	return points, left, w.GiveUpLog()
}

// GiveUpLog makes the engine forget a log, with all that is in it and not in the tables.
func (w *Writer) GiveUpLog() error {
	keeper := w.o.DB.LogKeeper()
	if keeper == nil {
		return nil
	}
	next := endedState(keeper.LogState(), kv.LogEnd{})
	next.Ended = kv.Generation{}
	return errors.Join(keeper.RecordLog(next), keeper.NoteLog(kv.LogEnd{}, true))
}

// UnknownInLog counts the series of a log that is not open and that the store does not have.
func (w *Writer) UnknownInLog(ctx context.Context, o BufferOptions) (unknown int, err error) {
	known := salvaged{index: w.o.Series, registry: w.o.registryOfLog()}
	if err := known.readSaved(ctx, o); err != nil {
		return 0, err
	}
	_, err = log.Salvage(ctx, o.logOptions("points"), func(record []byte) error {
		if isGeneration(record) || isDeletion(record) {
			return nil
		}
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
func (s *salvaged) ref(number uint32) storage.Ref {
	if id, ok := s.ids[number]; ok {
		return index.RefOf(id)
	}
	return 0
}

// salvagedDeletions are the deletions of a damaged log, in its order. The table has followed those
// that have an end: then points before them are left out, and the table, which may have later points
// that the log has lost, stays as it is. The others are carried out.
type salvagedDeletions struct {
	all  []salvagedDeletion
	byID map[index.ID][]int // of all
	next int                // of all: the first one that is yet to come
}

type salvagedDeletion struct {
	Deletion
	key      uint64
	finished bool
}

// deletions reads the deletions of a log.
func (o BufferOptions) deletions(ctx context.Context, series *index.Index) (*salvagedDeletions, error) {
	s := &salvagedDeletions{byID: map[index.ID][]int{}}
	_, err := log.Salvage(ctx, o.logOptions("points"), func(record []byte) error {
		if !isDeletion(record) {
			return nil
		}
		err := s.read(record, series)
		if errors.Is(err, errRecord) {
			return nil
		}
		return err
	})
	for n := range s.all {
		for _, id := range s.all[n].IDs {
			s.byID[id] = append(s.byID[id], n)
		}
	}
	return s, err
}

func (s *salvagedDeletions) read(record []byte, x *index.Index) error {
	if record[0] == recordDeletionDone {
		key, err := parseDeletionDone(record)
		for n := range s.all {
			s.all[n].finished = s.all[n].finished || err == nil && s.all[n].key == key
		}
		return err
	}
	key, d, err := parseDeletion(record, func(tsuid []byte) (index.ID, error) {
		id, _, err := x.Add(tsuid)
		return id, err
	})
	if err == nil {
		s.all = append(s.all, salvagedDeletion{Deletion: d, key: key})
	}
	return err
}

// apply takes a record of a deletion in the order of the log.
func (s *salvagedDeletions) apply(ctx context.Context, record []byte, d *deleter) error {
	if _, _, err := parseDeletion(record, func([]byte) (index.ID, error) { return 0, nil }); record[0] == recordDeletionDone || err != nil {
		return nil //nolint:nilerr // it was left out before, too
	}
	n := s.next
	s.next++
	if s.all[n].finished {
		return nil
	}
	_, err := d.deleteUnlogged(ctx, s.all[n].Deletion)
	return err
}

// leave leaves out of a batch what finished deletions that are yet to come delete.
func (s *salvagedDeletions) leave(b *storage.Batch) *storage.Batch {
	kept, _ := split(b, func(ref storage.Ref, time int64) bool {
		for _, n := range s.byID[index.IDOf(ref)] {
			if d := &s.all[n]; n >= s.next && d.finished && time >= d.Start && time <= d.End {
				return false
			}
		}
		return true
	})
	return kept
}

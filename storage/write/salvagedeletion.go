package write

import (
	"context"
	"errors"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

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

// salvageDeletions reads the deletions of a log.
func (w *Writer) salvageDeletions(ctx context.Context, o BufferOptions) (*salvagedDeletions, error) {
	s := &salvagedDeletions{byID: map[index.ID][]int{}}
	_, err := log.Salvage(ctx, o.logOptions("points"), func(record []byte) error {
		if !isDeletion(record) {
			return nil
		}
		err := s.read(record, w.o.Series)
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

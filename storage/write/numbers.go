package write

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// A number names a series in the records of the log. It is kept as number + 1; 0: none was given.
// unsaved means that no record on the disk is known to have it.
type number uint32

const (
	unsaved     number = 1 << 31
	mostNumbers        = 1<<31 - 1
)

// value is what records contain.
func (n number) value() int64 { return int64(n&^unsaved) - 1 }

// durable reports whether a record on the disk has the number.
func (n number) durable() bool { return int32(n) > 0 }

// numbered is a series with its number.
type numbered struct {
	id     index.ID
	number uint32
	tsuid  []byte // the index's own
}

// noSeries stands where no record has the series of a number: the process ended before one was on
// the disk.
const noSeries = ^index.ID(0)

// numbersPerRecord bounds the series that one record numbers.
const numbersPerRecord = 16_384

// seriesNumbers gives series the numbers by which the records of the log name them. The first
// record of a series in the log of points numbers it. Before that log is cut, the numbers are saved
// in a log of their own, which is never cut while the other one holds records: a record of it is a
// first number and TSUIDs, each after its length, of that number and those that follow. A TSUID
// without bytes stands for a number without a series. When series are deleted, a record that begins
// with forgottenNumbers lists their numbers: it is no error then that the store lacks them.
type seriesNumbers struct {
	log   *log.Log
	index *index.Index
	// registry knows the series of the store, if it is that of a table that no other process writes
	// to: a series' row of tsdb-meta is durable before its number.
	registry *catalog.Registry

	mu   sync.RWMutex // guards the two below
	ids  []index.ID   // by number
	byID []number

	saving sync.Mutex // held while numbers are saved; guards saved
	saved  int        // how many of ids are in log

	forgotten map[uint32]struct{} // numbers; for the time of replaying
}

// replay reads the numbers that were saved, and adds their series to the index.
// generation gets the records that have a generation of the tables.
func (n *seriesNumbers) replay(ctx context.Context, generation func(record []byte)) error {
	err := n.log.Replay(ctx, log.Position{}, func(_ log.Position, record []byte) error {
		if _, ok, err := parseSeriesGeneration(record); ok {
			generation(record)
			return err
		}
		if n.forgotten == nil {
			n.forgotten = map[uint32]struct{}{}
		}
		if ok, err := parseForgotten(n.forgotten, record); ok || err != nil {
			return err
		}
		first, rest, err := parseSaved(record)
		if err != nil || first > uint64(len(n.ids)) {
			return fmt.Errorf("%w: series numbers begin at %d, want %d", errRecord, first, len(n.ids))
		}
		return eachSaved(uint32(first), rest, n.note)
	})
	n.saved = len(n.ids)
	return err
}

// note takes the number that a record gives a series; for the time of replaying.
func (n *seriesNumbers) note(of uint32, tsuid []byte) error {
	id := noSeries
	if len(tsuid) > 0 {
		var err error
		if id, _, err = n.index.Add(tsuid); err != nil {
			return fmt.Errorf("series %x: %w", tsuid, err)
		}
	}
	if int(of) > len(n.ids)+mostLost {
		return fmt.Errorf("%w: number %d of %d series", errRecord, of, len(n.ids))
	}
	for int(of) >= len(n.ids) {
		n.ids = append(n.ids, noSeries)
	}
	switch n.ids[of] {
	case id:
		return nil
	case noSeries:
	default:
		return fmt.Errorf("%w: two series have number %d", errRecord, of)
	}
	n.ids[of] = id
	n.set(id, number(of)+1)
	return nil
}

// mostLost bounds the numbers without a series before one that has a series.
const mostLost = 1 << 24

// set keeps the number of a series. The caller holds mu, or is the only one.
func (n *seriesNumbers) set(id index.ID, to number) {
	if int(id) >= len(n.byID) {
		n.byID = append(n.byID, make([]number, int(id)+1-len(n.byID))...)
	}
	n.byID[id] = to
}

// ref is the series of a number, 0 if there is none; for the time of replaying.
func (n *seriesNumbers) ref(of uint32) storage.Ref {
	if int(of) >= len(n.ids) || n.ids[of] == noSeries {
		return 0
	}
	return index.RefOf(n.ids[of])
}

// need gives a number to each series of a batch that has none. It returns those whose number may
// not be on the disk, each once: the record of the batch must number them.
func (n *seriesNumbers) need(b *storage.Batch) []numbered {
	missing := n.missing(b)
	if len(missing) == 0 {
		return nil
	}
	tsuids := n.index.TSUIDBytes(nil, missing)
	fresh := make([]numbered, len(missing))
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, id := range missing {
		if int(id) >= len(n.byID) || n.byID[id] == 0 {
			n.ids = append(n.ids, id)
			n.set(id, number(len(n.ids))|unsaved)
		}
		fresh[i] = numbered{id, uint32(n.byID[id].value()), tsuids[i]}
	}
	return fresh
}

// written notes that a record that numbers these series is on the disk.
func (n *seriesNumbers) written(fresh []numbered) {
	if len(fresh) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range fresh {
		n.byID[f.id] &^= unsaved
	}
}

// missing are the series whose number may not be on the disk, each once, ascending.
func (n *seriesNumbers) missing(b *storage.Batch) []index.ID {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var missing []index.ID
	for _, ref := range b.Refs {
		if id := index.IDOf(ref); !n.has(id) {
			missing = append(missing, id)
		}
	}
	for i := range b.Objects {
		if id := index.IDOf(b.Objects[i].Ref); !n.has(id) {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// has needs mu.
func (n *seriesNumbers) has(id index.ID) bool { return int(id) < len(n.byID) && n.byID[id].durable() }

// use calls f with the number of each series by its id.
func (n *seriesNumbers) use(f func(byID []number)) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	f(n.byID)
}

// save puts all numbers that were given before the call into the log of numbers.
func (n *seriesNumbers) save(ctx context.Context) error {
	n.saving.Lock()
	defer n.saving.Unlock()
	n.mu.RLock()
	ids := n.ids[n.saved:len(n.ids):len(n.ids)] // entries do not change after the replay
	n.mu.RUnlock()
	for part := range slices.Chunk(ids, numbersPerRecord) {
		if _, err := n.log.Append(ctx, n.appendSaved(nil, part)); err != nil {
			return fmt.Errorf("save the numbers of %d series: %w", len(part), err)
		}
		n.saved += len(part)
	}
	return nil
}

// forgottenNumbers takes the place of the first number in a record of numbers whose series were
// deleted.
const forgottenNumbers = math.MaxUint64

// forget notes in the log of numbers that series were deleted. Those that come back keep their
// numbers.
func (n *seriesNumbers) forget(ctx context.Context, ids []index.ID) error {
	record := binary.AppendUvarint(nil, forgottenNumbers)
	empty := len(record)
	n.use(func(byID []number) {
		for _, id := range ids {
			if int(id) < len(byID) && byID[id] != 0 {
				record = binary.AppendUvarint(record, uint64(byID[id].value()))
			}
		}
	})
	if len(record) == empty {
		return nil
	}
	if _, err := n.log.Append(context.WithoutCancel(ctx), record); err != nil {
		return fmt.Errorf("note that %d series were deleted: %w", len(ids), err)
	}
	return nil
}

// parseForgotten adds the numbers of a record of deleted series to a set; ok is false for other
// records.
func parseForgotten(set map[uint32]struct{}, record []byte) (ok bool, err error) {
	r := recordReader{rest: record}
	if r.uvarint() != forgottenNumbers {
		return false, nil
	}
	for len(r.rest) > 0 {
		number := r.uvarint()
		if number >= mostNumbers {
			r.fail()
		}
		set[uint32(number)] = struct{}{}
	}
	return true, r.err
}

// appendSaved appends the record of the next numbers to be saved.
func (n *seriesNumbers) appendSaved(dst []byte, ids []index.ID) []byte {
	dst = binary.AppendUvarint(dst, uint64(n.saved))
	var tsuid [][]byte
	for i, id := range ids {
		if id == noSeries {
			dst = append(dst, 0)
			continue
		}
		tsuid = n.index.TSUIDBytes(tsuid[:0], ids[i:i+1])
		dst = append(binary.AppendUvarint(dst, uint64(len(tsuid[0]))), tsuid[0]...)
	}
	return dst
}

// parseSaved takes a record of saved numbers apart: the first number and the TSUIDs.
func parseSaved(record []byte) (first uint64, tsuids []byte, err error) {
	first, width := binary.Uvarint(record)
	if width <= 0 || first >= mostNumbers {
		return 0, nil, fmt.Errorf("%w: no number", errRecord)
	}
	return first, record[width:], nil
}

// eachSaved calls note for the TSUIDs of a record of saved numbers.
func eachSaved(first uint32, tsuids []byte, note func(number uint32, tsuid []byte) error) error {
	for ; len(tsuids) > 0; first++ {
		length, width := binary.Uvarint(tsuids)
		if width <= 0 || length > uint64(len(tsuids)-width) {
			return fmt.Errorf("%w: a TSUID is cut off", errRecord)
		}
		tsuids = tsuids[width:]
		if err := note(first, tsuids[:length]); err != nil {
			return err
		}
		tsuids = tsuids[length:]
	}
	return nil
}

// isOwn reports whether a series that the log numbers is one of the store's.
func isOwn(registry *catalog.Registry, id index.ID) bool {
	return registry == nil || registry.Of(id).Exists()
}

// checkNumbers requires the log that was replayed to be that of this store, as it is now. An older
// copy of the store would give UIDs of the log's series to others.
func (b *buffer) checkNumbers(ctx context.Context) error {
	n := &b.numbers
	if n.registry == nil {
		return nil
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !n.registry.Loaded() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	unknown := 0
	var deleted []index.ID
	for of, id := range n.ids {
		if id == noSeries || isOwn(n.registry, id) {
			continue
		}
		if _, ok := n.forgotten[uint32(of)]; ok {
			deleted = append(deleted, id)
		} else {
			unknown++
		}
	}
	n.registry.Forget(deleted) // the replay has added them to the index
	if unknown == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", log.ErrCorrupt, filepath.Join(b.o.Dir, "series"), storage.UnknownText(unknown))
}

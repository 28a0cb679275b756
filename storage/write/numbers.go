package write

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// seriesNumbers gives series the numbers by which the records of the log name them. They are kept
// in a log of their own, which is never cut while the other one holds records: a record is a first
// number and TSUIDs, each after its length, of that number and those that follow.
type seriesNumbers struct {
	log   *log.Log
	index *index.Index
	// registry knows the series of the store, if it is that of a table that no other process writes
	// to: a series' row of tsdb-meta is durable before its number.
	registry *catalog.Registry

	giving sync.Mutex // held while numbers are given; guards ids
	ids    []index.ID // by number

	mu   sync.RWMutex // guards byID
	byID []uint32     // number + 1 by id; 0: none yet
}

// replay reads the numbers that were given, and adds their series to the index.
func (n *seriesNumbers) replay(ctx context.Context) error {
	return n.log.Replay(ctx, log.Position{}, func(_ log.Position, record []byte) error {
		first, width := binary.Uvarint(record)
		if width <= 0 || first != uint64(len(n.ids)) {
			return fmt.Errorf("%w: series numbers begin at %d, want %d", errRecord, first, len(n.ids))
		}
		for rest := record[width:]; len(rest) > 0; {
			length, width := binary.Uvarint(rest)
			if width <= 0 || length > uint64(len(rest)-width) {
				return fmt.Errorf("%w: a TSUID is cut off", errRecord)
			}
			tsuid := rest[width : width+int(length)]
			rest = rest[width+int(length):]
			id, _, err := n.index.Add(tsuid)
			if err != nil {
				return fmt.Errorf("series %x: %w", tsuid, err)
			}
			n.publish(id)
		}
		return nil
	})
}

// publish gives series the next numbers. The caller holds giving, or is the only one.
func (n *seriesNumbers) publish(ids ...index.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range ids {
		if int(id) >= len(n.byID) {
			n.byID = append(n.byID, make([]uint32, int(id)+1-len(n.byID))...)
		}
		n.byID[id] = uint32(len(n.ids)) + 1
		n.ids = append(n.ids, id)
	}
}

// ref is the series of a number, 0 if there is none; for the time of replaying.
func (n *seriesNumbers) ref(number uint32) series.Ref {
	if int(number) >= len(n.ids) {
		return 0
	}
	return series.RefOf(n.ids[number])
}

// need sees to it that each series of a batch has a number, durably.
func (n *seriesNumbers) need(ctx context.Context, b *series.Batch) error {
	missing := n.missing(b)
	if len(missing) == 0 {
		return nil
	}
	n.giving.Lock()
	defer n.giving.Unlock()
	if missing = n.missing(b); len(missing) == 0 { // another call was first
		return nil
	}
	for ids := range slices.Chunk(missing, 16_384) {
		record := binary.AppendUvarint(nil, uint64(len(n.ids)))
		for _, tsuid := range n.index.TSUIDs(nil, ids) {
			record = append(binary.AppendUvarint(record, uint64(len(tsuid))), tsuid...)
		}
		// Not even a caller that has gone may leave it open whether the numbers are given.
		if _, err := n.log.Append(context.WithoutCancel(ctx), record); err != nil {
			return fmt.Errorf("number %d series: %w", len(ids), err)
		}
		n.publish(ids...)
	}
	return nil
}

// missing are the series without a number, each once, ascending.
func (n *seriesNumbers) missing(b *series.Batch) []index.ID {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var missing []index.ID
	for _, ref := range b.Refs {
		if id := ref.ID(); !n.has(id) {
			missing = append(missing, id)
		}
	}
	for i := range b.Objects {
		if id := b.Objects[i].Ref.ID(); !n.has(id) {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// has needs mu.
func (n *seriesNumbers) has(id index.ID) bool { return int(id) < len(n.byID) && n.byID[id] != 0 }

// use calls f with the number + 1 of each series by its id.
func (n *seriesNumbers) use(f func(byID []uint32)) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	f(n.byID)
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
	for _, id := range n.ids {
		if !isOwn(n.registry, id) {
			unknown++
		}
	}
	if unknown == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", log.ErrCorrupt, filepath.Join(b.o.Dir, "series"), UnknownText(unknown))
}

package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// lineage is the record, in the tables, of whose they are and what they know of their log.
type lineage struct {
	mu  sync.Mutex // held while a record is made; guards now
	now kv.LogState

	lives  sync.Mutex                // held while the record of the starts is made
	moment atomic.Pointer[kv.Moment] // the present one; nil: no start was begun
}

// The value of a record:
//
//	version 1 | store, 8 bytes | generation | before | log | ended | adopts, 1 byte | points | series | cut, uvarint
//	generations: number, uvarint, and tag, 8 bytes; ends of logs: segment and offset, uvarint each
const lineageVersion = 1

func appendLineage(b []byte, s kv.LogState) []byte {
	b = binary.BigEndian.AppendUint64(append(b, lineageVersion), s.Store)
	for _, g := range []kv.Generation{s.Generation, s.Before, s.Log, s.Ended} {
		b = binary.BigEndian.AppendUint64(binary.AppendUvarint(b, g.Number), g.Tag)
	}
	b = append(b, bit(s.Adopts))
	for _, end := range []kv.LogEnd{s.Points, s.Series} {
		b = binary.AppendUvarint(binary.AppendUvarint(b, end.Segment), uint64(end.Offset))
	}
	return binary.AppendUvarint(b, s.Cut)
}

func parseLineage(b []byte) (s kv.LogState, err error) {
	r := factReader{rest: b}
	if version := r.byte(); version != lineageVersion {
		return s, fmt.Errorf("%w: what the tables know of their log has version %d, this is for %d", errCorrupt, version, lineageVersion)
	}
	s.Store = r.uint64()
	for _, g := range []*kv.Generation{&s.Generation, &s.Before, &s.Log, &s.Ended} {
		*g = kv.Generation{Number: r.uvarint(), Tag: r.uint64()}
	}
	s.Adopts = r.byte() == 1
	for _, end := range []*kv.LogEnd{&s.Points, &s.Series} {
		*end = kv.LogEnd{Segment: r.uvarint(), Offset: int64(r.uvarint())}
	}
	s.Cut = r.uvarint()
	if r.failed || len(r.rest) > 0 || s.Store == 0 {
		return kv.LogState{}, fmt.Errorf("%w: what the tables know of their log", errCorrupt)
	}
	return s, nil
}

// readLineage reads the record of tables; Store is 0 where they have none.
func readLineage(db *pebble.DB) (s kv.LogState, err error) {
	value, closer, err := db.Get(logKey())
	if errors.Is(err, pebble.ErrNotFound) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s, err = parseLineage(value)
	return s, errors.Join(err, closer.Close())
}

// read takes the record of tables, which must agree with the mark. Tables of an earlier form get a
// name, which is durable when they are opened for writing. A copy that is whole has no log. news means
// that the record is not that of the tables.
func (l *lineage) read(db *pebble.DB, version uint64, path string, marked ownedTables) (news bool, err error) {
	s, err := readLineage(db)
	if err != nil {
		return false, err
	}
	if err := agree(s, version, path, marked); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case s.Store == 0 && l.now.Store == 0:
		l.now = firstLineage(version)
	case s.Store == 0: // it was named when it was opened to be read
	case marked.whole && marked.generation == s.Generation:
		l.now = s.Next(rand.Uint64())
		l.now.Log, l.now.Ended, l.now.Adopts = kv.Generation{}, kv.Generation{}, false
		l.now.Points, l.now.Series, l.now.Cut = kv.LogEnd{}, kv.LogEnd{}, 0
	default:
		l.now = s
	}
	return l.now != s, nil
}

// agree compares tables with the mark of their store. A mark may be older, after a power failure.
func agree(s kv.LogState, version uint64, path string, marked ownedTables) error {
	g, m := s.Generation, marked.generation
	what := ""
	switch {
	case marked.store == 0: // it is that of an earlier version, or of a store that was being made
	case s.Store == 0 && version == 0: // the store was being made
	case s.Store == 0:
		what = fmt.Sprintf("the tables are older than it: they are of format %d", version)
	case marked.store != s.Store:
		what = fmt.Sprintf("it is that of another store (%016x; the tables are those of %016x)", marked.store, s.Store)
	case m.Number > g.Number:
		what = fmt.Sprintf("the tables are older than it: they are of generation %v, it has seen %v", g, m)
	case m.Number == g.Number && m.Tag != g.Tag, m.Number == s.Before.Number && m.Tag != s.Before.Tag:
		what = fmt.Sprintf("it is that of a copy of this store that went on by itself: generation %v, the tables have %v", m, g)
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("%w: %s/%s: %s", errMixed, path, markName, what)
}

// errMixed is storage.ErrDamaged of a mark and tables that are whole, and do not belong together.
var errMixed = fmt.Errorf("%w: %w", storage.ErrDamaged, kv.ErrMixed)

// loadLineage reads the record of tables that are opened for writing, and makes what is missing. The
// format is raised in the same batch: a version that does not keep the record opens the tables no
// more.
func (e *records) loadLineage(db *pebble.DB, version uint64, o Options, h holding) error {
	var marked ownedTables
	if h.own != nil && !o.accepting {
		marked = h.own.tables()
	}
	news, err := e.lineage.read(db, version, e.path, marked)
	if err != nil && o.accepting && errors.Is(err, errCorrupt) { // it is made anew
		news, err = true, nil
		e.lineage.renew(version)
	}
	if err != nil {
		return err
	}
	e.lineage.mu.Lock()
	defer e.lineage.mu.Unlock()
	batch := db.NewBatch()
	err = errors.Join(batch.Set(formatKey(), binary.AppendUvarint(nil, formatVersion), nil), batch.Set(logKey(), appendLineage(nil, e.lineage.now), nil))
	if version == 0 { // there is nothing of an earlier version
		err = errors.Join(err, batch.Set(startsKey(), appendStarts(nil, kv.Life{}), nil))
	}
	if err == nil && (version != formatVersion || news) {
		err = db.Apply(batch, e.durability)
	}
	if err := errors.Join(err, batch.Close()); err != nil {
		return err
	}
	if h.own == nil {
		return nil
	}
	if now := tablesOf(e.lineage.now); h.own.tables() != now {
		return h.own.noteTables(now, true)
	}
	return nil
}

// renew gives tables of which the record is lost a new one.
func (l *lineage) renew(version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = firstLineage(version)
}

// firstLineage is the record of tables that have none, of a format; 0: they are new.
func firstLineage(version uint64) kv.LogState {
	return kv.LogState{Store: rand.Uint64() | 1, Generation: kv.Generation{Number: 1, Tag: rand.Uint64()}, Adopts: version > 0}
}

// restoreLineage makes the record of tables anew that has been lost. The name is that of the mark, so
// the log is known to be the store's, and as one that goes on after the tables.
func (e *records) restoreLineage() error {
	e.lineage.mu.Lock()
	defer e.lineage.mu.Unlock()
	own := e.holding.own
	if s, err := readLineage(e.db()); err != nil || s.Store != 0 || own == nil {
		return err
	}
	now := firstLineage(0)
	if now.Adopts = own.tables().store == 0; !now.Adopts {
		now.Store = own.tables().store
	}
	batch := e.db().NewBatch()
	err := errors.Join(batch.Set(formatKey(), binary.AppendUvarint(nil, formatVersion), nil), batch.Set(logKey(), appendLineage(nil, now), nil))
	if err == nil {
		err = e.db().Apply(batch, pebble.Sync)
	}
	if err := errors.Join(err, batch.Close()); err != nil {
		return err
	}
	e.lineage.now = now
	return own.noteTables(tablesOf(now), true)
}

func tablesOf(s kv.LogState) ownedTables {
	return ownedTables{store: s.Store, generation: s.Generation}
}

// wholeTables is what the mark of a copy knows that has everything which the log of its store had.
func wholeTables(s kv.LogState) ownedTables {
	return ownedTables{store: s.Store, generation: s.Generation, whole: true}
}

// still calls do while no record is made, and returns the record of that time.
func (l *lineage) still(do func() error) (kv.LogState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, do()
}

// LogState implements kv.Local.
func (e *records) LogState() kv.LogState {
	e.lineage.mu.Lock()
	defer e.lineage.mu.Unlock()
	return e.lineage.now
}

// RecordLog implements kv.Local.
func (e *records) RecordLog(state kv.LogState) error {
	if err := e.recordLog(state); err != nil {
		return fmt.Errorf("record what the tables know of their log: %w", err)
	}
	return nil
}

func (e *records) recordLog(state kv.LogState) error {
	if err := e.space.want(quartersPut); err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	e.lineage.mu.Lock()
	defer e.lineage.mu.Unlock()
	batch := e.db().NewBatch()
	err := batch.Set(logKey(), appendLineage(nil, state), nil)
	if err == nil {
		err = e.commit(batch, e.durability)
	}
	if err := errors.Join(err, batch.Close()); err != nil {
		return err
	}
	e.lineage.now = state
	e.lineage.moveOn()
	e.mu.Lock()
	own := e.holding.own
	e.mu.Unlock()
	if own == nil {
		return nil
	}
	return own.noteTables(tablesOf(state), false)
}

// noMark is the error of a store of which the mark is missing.
func (f *inspection) noMark() error {
	return f.damaged(markName, "it is missing, so whether acknowledged changes are missing too cannot be told")
}

// checkMarked wants a store that once had a mark to have it. Nothing has been changed yet.
func (e *folder) checkMarked(o Options, found *inspection) error {
	if found.marked || o.accepting || !found.has(manifestMarker) {
		return nil
	}
	version, err := peekFormat(o.Path, e.files)
	if err == nil && version >= formatMarked {
		return found.noMark()
	}
	return nil // what is wrong with it shows when it is opened
}

// peekFormat reads the format of a store without a change to any file.
func peekFormat(path string, files vfs.FS) (version uint64, err error) {
	err = peek(path, files, func(db *pebble.DB) error {
		version, err = checkFormat(db)
		return err
	})
	return version, err
}

// peek opens tables to look at them, without a change to any file.
func peek(path string, files vfs.FS, do func(db *pebble.DB) error) error {
	options := tuned(Options{Path: path, CacheBytes: 1 << 20}, lockless{files})
	options.ReadOnly = true
	// what is damaged is an error of what meets it, and no end of the process, as Pebble has it
	options.EventListener = &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}, BackgroundError: func(error) {}}
	db, err := pebble.Open(path, options)
	if err != nil {
		return explainOpening(err, files, path)
	}
	return errors.Join(explain(do(db)), db.Close())
}

// LogState returns what a store that no process has open knows of its log: the record of the
// tables, and where the log ends by the mark. It changes nothing.
func LogState(path string) (state kv.LogState, end kv.LogEnd, err error) {
	fact, _, err := readOwned(onDisk(), path)
	if err != nil {
		return state, end, err
	}
	err = peek(path, onDisk(), func(db *pebble.DB) error {
		version, err := checkFormat(db)
		if err != nil {
			return err
		}
		l := lineage{}
		_, err = l.read(db, version, path, fact.tables)
		state = l.now
		return err
	})
	return state, fact.log, err
}

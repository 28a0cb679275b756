package write

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// A lineage keeps tables and log together, so that a start notices files of different stores, or of
// different times of one. Each of the two records what the other must have:
//
//	in the tables (kv.LogState)   which log is theirs, up to where it must reach, what of it may be gone
//	in the log                    a record with the generation of the tables, after each new one
//
// What is recorded is true before it is recorded: the log reaches an end before the tables say so;
// the tables have a generation before the log says so; the tables have what is cut off before the
// log is cut. So no crash between two of these steps makes either say too much. The tables begin a
// generation only when the log has the one before: that of the log's last record is the tables' own
// or the one before it.
type lineage struct {
	keeper kv.LogKeeper // nil: the tables are other processes' too, and record nothing
	buffer *buffer
	owner  log.Owner // of the log

	begun atomic.Bool // the tables say that the log is theirs

	mu      sync.Mutex // guards all below
	state   kv.LogState
	pending bool            // the log does not have state.Generation yet
	noted   log.Position    // the end of the log after its last such record
	series  log.Position    // the same of the log of series numbers
	last    lastGenerations // of the logs that are replayed
}

// recordGeneration is the first byte of a record of the log that has the generation of the tables:
// number | tag, 8 bytes.
const recordGeneration = 0x23

func isGeneration(record []byte) bool { return len(record) > 0 && record[0] == recordGeneration }

func generationRecord(g kv.Generation) []byte {
	return binary.BigEndian.AppendUint64(binary.AppendUvarint([]byte{recordGeneration}, g.Number), g.Tag)
}

func parseGeneration(record []byte) (g kv.Generation, err error) {
	r := recordReader{rest: record[1:]}
	g.Number = r.uvarint()
	if b := r.bytes(8); len(b) == 8 {
		g.Tag = binary.BigEndian.Uint64(b)
	}
	if len(r.rest) > 0 {
		r.fail()
	}
	return g, r.err
}

// ownerOf returns the owner of the log of tables: of the one that they have, or of one that is about
// to begin.
func ownerOf(s kv.LogState) (owner log.Owner, begun bool) {
	if s.Store == 0 {
		return log.Owner{}, false
	}
	if s.Log == (kv.Generation{}) {
		return log.Owner{Store: s.Store, Number: s.Generation.Number + 1, Tag: rand.Uint64()}, false
	}
	return log.Owner{Store: s.Store, Number: s.Log.Number, Tag: s.Log.Tag}, true
}

// open takes what the tables have recorded.
func (l *lineage) open(b *buffer, keeper kv.LogKeeper, state kv.LogState) {
	l.buffer = b
	if l.keeper = keeper; keeper == nil {
		return
	}
	l.state, l.last.points = state, state.Log
	owner, begun := ownerOf(state)
	l.owner = owner
	l.begun.Store(begun)
}

// begin records in the tables that the log, whose marks are durable, is theirs. Before that it has no
// segment.
func (l *lineage) begin() error {
	if l.keeper == nil || l.begun.Load() {
		return nil
	}
	points, series := l.buffer.log, l.buffer.numbers.log
	if err := l.buffer.waits(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun.Load() {
		return nil
	}
	if !l.state.Adopts { // the end of an earlier log may be left, after a crash
		if err := l.keeper.NoteLog(kv.LogEnd{}, true); err != nil {
			return fmt.Errorf("forget where an earlier log ended: %w", err)
		}
	}
	next := l.state.Next(l.owner.Tag)
	next.Log, next.Ended, next.Adopts = next.Generation, kv.Generation{}, false
	next.Points, next.Series, next.Cut = endOf(points), endOf(series), points.First()
	if err := l.record(next); err != nil {
		return fmt.Errorf("record in the tables that the log is begun: %w", err)
	}
	l.last.points = next.Log
	l.begun.Store(true)
	return nil
}

func endOf(l *log.Log) kv.LogEnd {
	if !l.Holds() {
		return kv.LogEnd{}
	}
	return kv.LogEnd(l.End())
}

// record needs mu.
func (l *lineage) record(next kv.LogState) error {
	if err := l.keeper.RecordLog(next); err != nil {
		return err
	}
	l.state = next
	return nil
}

// check compares the last generations that the logs know with that of the tables.
func (l *lineage) check(dir string) error {
	if l.keeper == nil || !l.begun.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name, what := lineageDiffers(l.state, l.last)
	if what == "" {
		l.pending = l.last.points != l.state.Generation
		return nil
	}
	return fmt.Errorf("%w: %w: %s: %s", log.ErrCorrupt, log.ErrMixed, filepath.Join(dir, name), what)
}

// lineageDiffers tells which of the two logs does not go with the tables, and in which way; empty:
// both do.
func lineageDiffers(s kv.LogState, last lastGenerations) (name, what string) {
	if what = generationDiffers(s, last.points); what != "" {
		return "points", what
	}
	if last.series.Number >= s.Before.Number { // else it has not grown since
		return "series", generationDiffers(s, last.series)
	}
	return "", ""
}

// generationDiffers tells in which way the tables are not those that a log was written with, of
// which it knows a generation last; empty: they are.
func generationDiffers(s kv.LogState, last kv.Generation) string {
	switch {
	case last == s.Generation || last == s.Before || s.Log == (kv.Generation{}) && last == s.Log:
		return ""
	case last == s.Log && last.Number < s.Before.Number:
		return "" // the record was cut off, and with it what the tables are compared with: see Cut
	case last.Number > s.Generation.Number:
		return fmt.Sprintf("the tables are older than the log: they are of generation %v, and the log has been written with %v", s.Generation, last)
	case last.Number < s.Before.Number:
		return fmt.Sprintf("the log is older than the tables: they are of generation %v, and the log has been written with %v", s.Generation, last)
	}
	return fmt.Sprintf("the log is that of a copy of this store that went on by itself: generation %v, the tables have %v", last, s.Generation)
}

// advance begins a generation of the tables, durably, and puts it into the log.
func (l *lineage) advance(ctx context.Context) error {
	if l.keeper == nil || !l.begun.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	points := l.buffer.log
	if !l.pending {
		next := l.state.Next(rand.Uint64())
		next.Points, next.Series = endOf(points), endOf(l.buffer.numbers.log)
		if err := l.record(next); err != nil {
			return fmt.Errorf("record in the tables where the log ends: %w", err)
		}
		l.pending = true
	}
	if _, err := points.Append(context.WithoutCancel(ctx), generationRecord(l.state.Generation)); err != nil {
		return fmt.Errorf("record in the log the generation of the tables: %w", err)
	}
	l.pending, l.noted = false, points.End()
	return l.noteSeries(ctx)
}

// noteSeries puts the generation of the tables into the log of series numbers, if that has grown. It
// needs mu.
func (l *lineage) noteSeries(ctx context.Context) error {
	numbers := l.buffer.numbers.log
	if numbers.End() == l.series {
		return nil
	}
	record := append(binary.AppendUvarint(nil, generationNumbers), generationRecord(l.state.Generation)...)
	if _, err := numbers.Append(context.WithoutCancel(ctx), record); err != nil {
		return fmt.Errorf("record in the log of series numbers the generation of the tables: %w", err)
	}
	l.series = numbers.End()
	return nil
}

// generationNumbers takes the place of the first number in such a record.
const generationNumbers = math.MaxUint64 - 1

// parseSeriesGeneration returns the generation of a record of the log of series numbers; ok is false
// for other records.
func parseSeriesGeneration(record []byte) (g kv.Generation, ok bool, err error) {
	r := recordReader{rest: record}
	if r.uvarint() != generationNumbers {
		return g, false, nil
	}
	if !isGeneration(r.rest) {
		return g, true, errRecord
	}
	g, err = parseGeneration(r.rest)
	return g, true, err
}

// follow advances if the log has grown.
func (l *lineage) follow(ctx context.Context) error {
	if l.keeper == nil || !l.begun.Load() {
		return nil
	}
	l.mu.Lock()
	same := l.buffer.log.End() == l.noted
	l.mu.Unlock()
	if same {
		return nil
	}
	return l.advance(ctx)
}

// cut records that the tables have what stands in the log before a segment.
func (l *lineage) cut(before uint64) error {
	if l.keeper == nil || !l.begun.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if before <= l.state.Cut {
		return nil
	}
	next := l.state
	next.Cut, next.Series = before, endOf(l.buffer.numbers.log)
	if err := l.record(next); err != nil {
		return fmt.Errorf("record in the tables what of the log may be cut off: %w", err)
	}
	return nil
}

// end records that the tables have everything that the log, which is closed, had.
func (l *lineage) end(at log.Position) error {
	if l.keeper == nil || !l.begun.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record(endedState(l.state, kv.LogEnd(at)))
}

// endedState follows a state whose log has ended at a position.
func endedState(s kv.LogState, at kv.LogEnd) kv.LogState {
	next := s.Next(rand.Uint64())
	if next.Log != (kv.Generation{}) {
		next.Ended = next.Log
	}
	next.Log, next.Adopts = kv.Generation{}, false
	next.Points, next.Series, next.Cut = at, kv.LogEnd{}, 0
	return next
}

func endedOwner(s kv.LogState) log.Owner {
	return log.Owner{Store: s.Store, Number: s.Ended.Number, Tag: s.Ended.Tag}
}

// anywhere is a position after all others.
func anywhere() log.Position { return log.Position{Segment: math.MaxUint64} }

// dropEnded removes what is left of a log that was ended in order.
func (l *lineage) dropEnded(points, series *log.Options) (err error) {
	s := l.state
	if s.Store == 0 || s.Log != (kv.Generation{}) || s.Ended == (kv.Generation{}) {
		return nil
	}
	if points.Left, err = log.Drop(*points, endedOwner(s), log.Position(s.Points)); err != nil {
		return err
	}
	series.Left, err = log.Drop(*series, endedOwner(s), anywhere())
	return err
}

package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// mostStarts is how many starts the tables record: 32 KiB.
const mostStarts = 4096

// The record of the starts, which are those of kv.Life:
//
//	version 1 | adopts, 1 byte | starts, 8 bytes each, the latest last
const startsVersion = 1

func startsKey() []byte { return []byte("\x00starts") }

func appendStarts(b []byte, l kv.Life) []byte {
	b = append(b, startsVersion, bit(l.Adopts))
	for _, start := range l.Starts {
		b = binary.BigEndian.AppendUint64(b, start)
	}
	return b
}

func parseStarts(b []byte, to *kv.Life) error {
	r := factReader{rest: b}
	if version := r.byte(); version != startsVersion {
		return fmt.Errorf("%w: what the tables know of their starts has version %d, this is for %d", errCorrupt, version, startsVersion)
	}
	to.Adopts, to.Starts = r.byte() == 1, nil
	for len(r.rest) > 0 {
		to.Starts = append(to.Starts, r.uint64())
	}
	if r.failed {
		return fmt.Errorf("%w: what the tables know of their starts", errCorrupt)
	}
	return nil
}

// lifeOf adds the starts to what is known of the log. Tables without a record are those of an earlier
// version, which had files that name no store.
func lifeOf(db *pebble.DB, s kv.LogState) (kv.Life, error) {
	l := kv.Life{Store: s.Store, Generation: s.Generation, Before: s.Before, Adopts: true}
	value, closer, err := db.Get(startsKey())
	if errors.Is(err, pebble.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	return l, errors.Join(parseStarts(value, &l), closer.Close())
}

// Life returns what the tables have recorded of their past.
func (e *records) Life() (kv.Life, error) {
	if err := e.enter(); err != nil {
		return kv.Life{}, err
	}
	defer e.leave()
	l, err := lifeOf(e.db(), e.LogState())
	return l, explain(err)
}

// BeginStart records a start, durably, and returns the life from it on.
func (e *records) BeginStart() (kv.Life, error) {
	return e.changeLife(func(l *kv.Life) {
		l.Starts = append(l.Starts, rand.Uint64()|1)
		l.Starts = l.Starts[max(0, len(l.Starts)-mostStarts):]
	})
}

// Adopted records that the files of earlier versions name the store now.
func (e *records) Adopted() error {
	_, err := e.changeLife(func(l *kv.Life) { l.Adopts = false })
	return err
}

// Moment returns the present moment of the tables. It does not wait.
func (e *records) Moment() kv.Moment {
	if m := e.lineage.moment.Load(); m != nil {
		return *m
	}
	return kv.Moment{}
}

func (e *records) changeLife(change func(*kv.Life)) (kv.Life, error) {
	e.lineage.lives.Lock()
	defer e.lineage.lives.Unlock()
	l, err := e.Life()
	if err != nil {
		return l, err
	}
	e.lineage.startAt(l)
	change(&l)
	if err := e.recordStarts(l); err != nil {
		return l, fmt.Errorf("record what the tables know of their starts: %w", err)
	}
	e.lineage.startAt(l)
	return l, nil
}

func (e *records) recordStarts(l kv.Life) error {
	if err := e.space.want(quartersPut); err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	batch := e.db().NewBatch()
	err := batch.Set(startsKey(), appendStarts(nil, l), nil)
	if err == nil {
		err = e.commit(batch, e.durability)
	}
	return errors.Join(err, batch.Close())
}

// startAt has the present moment follow a life.
func (l *lineage) startAt(of kv.Life) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := of.Now()
	m.Store, m.Generation = l.now.Store, l.now.Generation
	l.moment.Store(&m)
}

// moveOn has the present moment follow a record of the tables. It needs mu.
func (l *lineage) moveOn() {
	if m := l.moment.Load(); m != nil {
		l.moment.Store(&kv.Moment{Store: l.now.Store, Start: m.Start, Generation: l.now.Generation})
	}
}

// partLife begins a start after a copy was made, so that what is written from now on is not taken for
// the copy's. Where there was no start there are no such files.
func (e *records) partLife() error {
	if e.lineage.moment.Load() == nil {
		return nil
	}
	_, err := e.BeginStart()
	return err
}

// Life returns what a store that no process has open has recorded of its past. It changes nothing.
func Life(path string) (life kv.Life, err error) {
	fact, _, err := readOwned(onDisk(), path)
	if err != nil {
		return life, err
	}
	err = peek(path, onDisk(), func(db *pebble.DB) error {
		version, err := checkFormat(db)
		if err != nil {
			return err
		}
		l := lineage{}
		if _, err := l.read(db, version, path, fact.tables); err != nil {
			return err
		}
		life, err = lifeOf(db, l.now)
		return err
	})
	return life, err
}

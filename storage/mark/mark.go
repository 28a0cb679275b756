// Package mark keeps one small fact in a file of its own, separate from the files that it is about:
// how far a log was written, which files a store has. A start compares the two and notices what is
// missing. The files alone look like those of a store that held less.
//
// A mark is written in place and not synced: it outlives its process, and after a power failure it
// may be an older one. So a fact must become stale only to the safe side: put a claim that
// something exists after it exists, and remove the claim, with Sync, before the thing is removed.
package mark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// File is an open file that a mark is kept in.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// SyncData makes what was written durable.
	SyncData() error
}

// The file has three places, of which the one with the greatest number counts. The first is written
// by Put. The other two are written in turns by PutSynced, so that there is always one that no
// power failure tears:
//
//	"mark" | number, 8 bytes | length of the fact, 4 bytes | the fact | CRC-32C of all before, 4 bytes
const (
	magic  = "mark"
	header = len(magic) + 8 + 4
	place  = 512 // bytes of one place, a sector
	places = 3

	// MaxFact is the longest fact, in bytes.
	MaxFact = place - header - 4
)

// ErrDamaged means that no place of a file holds a mark.
var ErrDamaged = errors.New("is damaged")

// Mark is a mark that is being kept. It is safe for concurrent use.
type Mark struct {
	mu     sync.Mutex // guards all below
	file   File
	number uint64
	synced int // the place that PutSynced wrote last
	buffer [place]byte
}

// Read returns the fact of a file. One that is empty holds none.
func Read(file io.ReaderAt) (fact []byte, found bool, err error) {
	last, err := read(file)
	return last.fact, last.number > 0, err
}

// Keep takes over a file, which it closes at the end, and the numbers of the mark that is there.
func Keep(file File) (*Mark, error) {
	last, err := read(file)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	return &Mark{file: file, number: last.number, synced: last.synced}, nil
}

// content is what a file holds.
type content struct {
	fact   []byte
	number uint64 // 0: none
	synced int    // place of the last synced one
}

func read(file io.ReaderAt) (last content, err error) {
	var all [places * place]byte
	n, err := file.ReadAt(all[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return last, err
	}
	synced := uint64(0)
	for i := range places {
		fact, number, ok := parse(all[i*place : (i+1)*place])
		if !ok {
			continue
		}
		if i > 0 && number > synced {
			synced, last.synced = number, i
		}
		if number > last.number {
			last.fact, last.number = fact, number
		}
	}
	if last.number == 0 && n > 0 {
		return last, ErrDamaged
	}
	return last, nil
}

func parse(b []byte) (fact []byte, number uint64, ok bool) {
	if string(b[:len(magic)]) != magic {
		return nil, 0, false
	}
	number, size := binary.BigEndian.Uint64(b[len(magic):]), int(binary.BigEndian.Uint32(b[len(magic)+8:]))
	if size > MaxFact || crc32.Checksum(b[:header+size], castagnoli()) != binary.BigEndian.Uint32(b[header+size:]) {
		return nil, 0, false
	}
	return b[header : header+size], number, true
}

// castagnoli returns a table that the library makes once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Put replaces the fact. The end of the process does not lose it, a power failure may.
func (m *Mark) Put(fact []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put(fact, 0)
}

func (m *Mark) put(fact []byte, at int) error {
	if len(fact) > MaxFact {
		return fmt.Errorf("a mark of %d bytes, at most %d", len(fact), MaxFact)
	}
	m.number++ // also for a write that fails: it may have come to the disk
	b := append(m.buffer[:0], magic...)
	b = binary.BigEndian.AppendUint64(b, m.number)
	b = binary.BigEndian.AppendUint32(b, uint32(len(fact)))
	b = append(b, fact...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
	clear(m.buffer[len(b):])
	// the whole place: no later fact makes the file longer
	_, err := m.file.WriteAt(m.buffer[:], int64(at*place))
	return err
}

// PutSynced replaces the fact and returns when that is durable.
func (m *Mark) PutSynced(fact []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := 1 + m.synced%2
	if err := m.put(fact, next); err != nil {
		return err
	}
	if err := m.file.SyncData(); err != nil {
		return err
	}
	m.synced = next
	return nil
}

// Begin puts the first fact of a new file into all places, so that no later one needs disk space.
func (m *Mark) Begin(fact []byte) error {
	return errors.Join(m.Put(fact), m.PutSynced(fact), m.PutSynced(fact))
}

// Close closes the file.
func (m *Mark) Close() error { return m.file.Close() }

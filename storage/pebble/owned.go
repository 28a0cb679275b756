package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/mark"
)

// markName is the file of the store's mark.
const markName = "store.mark"

// What Pebble calls the files that a mark knows.
const (
	manifestPrefix = "MANIFEST-"
	walSuffix      = ".log"
)

// An ownedFile is one of Pebble's files that grow, as far as it was synced. The manifest lists the
// files of tables; without its end, Pebble would remove tables as unlisted. Without the end of a
// log of Pebble's, the last changes are missing.
type ownedFile struct {
	manifest bool
	number   uint64
	size     int64  // bytes
	sum      uint32 // CRC-32C of a manifest's
}

func (f ownedFile) name() string {
	if f.manifest {
		return fmt.Sprintf("%s%06d", manifestPrefix, f.number)
	}
	return fmt.Sprintf("%06d%s", f.number, walSuffix)
}

// ownedOf takes the name of a file apart; false when it is of another kind.
func ownedOf(name string) (f ownedFile, ok bool) {
	digits := strings.TrimSuffix(name, walSuffix)
	if f.manifest = strings.HasPrefix(name, manifestPrefix); f.manifest {
		digits = strings.TrimPrefix(name, manifestPrefix)
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	f.number = number
	return f, err == nil && digits != name
}

// The fact of a store's mark:
//
//	version 3 | process, uvarint | end of the write log: segment, offset, uvarint each | tables | files | kind, number, size, uvarint each, and the sum of a manifest, 4 bytes …
//	tables: name of the store, 8 bytes | number of their generation, uvarint | its tag, 8 bytes | 1: they are whole without their log
//
// Version 2 lacks what is known of the tables, version 1 the end of the write log too.
const factVersion = 3

// mostOwned is how many files a mark has space for. Pebble has two manifests and some five logs.
const mostOwned = 20

type ownedFact struct {
	process int // that opened the store last; it may have ended
	log     kv.LogEnd
	tables  ownedTables
	files   []ownedFile
}

// ownedTables is what a mark knows of the tables themselves.
type ownedTables struct {
	store      uint64        // 0: nothing is known
	generation kv.Generation // that they have, or one that they had
	// whole means that they are a copy of this generation that has everything which its log had.
	whole bool
}

func (o *ownedFact) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(append(b, factVersion), uint64(o.process))
	b = binary.AppendUvarint(binary.AppendUvarint(b, o.log.Segment), uint64(o.log.Offset))
	b = binary.BigEndian.AppendUint64(b, o.tables.store)
	b = binary.AppendUvarint(b, o.tables.generation.Number)
	b = binary.BigEndian.AppendUint64(b, o.tables.generation.Tag)
	b = append(b, bit(o.tables.whole))
	files := o.files[max(0, len(o.files)-mostOwned):]
	b = append(b, byte(len(files)))
	for _, f := range files {
		b = binary.AppendUvarint(append(b, bit(f.manifest)), f.number)
		b = binary.AppendUvarint(b, uint64(f.size))
		if f.manifest {
			b = binary.BigEndian.AppendUint32(b, f.sum)
		}
	}
	return b
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func parseOwned(b []byte) (o ownedFact, err error) {
	r := factReader{rest: b}
	version := r.byte()
	if version < 1 || version > factVersion {
		return o, fmt.Errorf("a mark of a later version of tsdbridge: %d, this one knows up to %d; use that version", version, factVersion)
	}
	o.process = int(r.uvarint())
	if version > 1 {
		o.log = kv.LogEnd{Segment: r.uvarint(), Offset: int64(r.uvarint())}
	}
	if version > 2 {
		o.tables = ownedTables{store: r.uint64(), generation: kv.Generation{Number: r.uvarint(), Tag: r.uint64()}, whole: r.byte() == 1}
	}
	for range r.byte() {
		f := ownedFile{manifest: r.byte() == 1, number: r.uvarint(), size: int64(r.uvarint())}
		if f.manifest {
			f.sum = r.uint32()
		}
		o.files = append(o.files, f)
	}
	if r.failed || len(r.rest) > 0 {
		return ownedFact{}, errors.New("no mark of a store")
	}
	return o, nil
}

// factReader takes a fact apart. When it ends too early it gives zeros.
type factReader struct {
	rest   []byte
	failed bool
}

func (r *factReader) byte() byte {
	if len(r.rest) == 0 {
		r.failed = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *factReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *factReader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }

func (r *factReader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

func (r *factReader) take(n int) []byte {
	if len(r.rest) < n {
		r.failed, r.rest = true, nil
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// readOwned reads the mark of a store; found is false when it has none.
func readOwned(files vfs.FS, path string) (o ownedFact, found bool, err error) {
	f, err := files.Open(files.PathJoin(path, markName))
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	fact, found, err := mark.Read(f)
	if err = errors.Join(err, f.Close()); err != nil || !found {
		return o, false, err
	}
	if o, err = parseOwned(fact); err != nil {
		return o, false, fmt.Errorf("%s: %w", markName, err)
	}
	return o, true, nil
}

// owned keeps the mark of an open store.
type owned struct {
	mu   sync.Mutex // guards all below
	mark *mark.Mark
	fact ownedFact
	told bool // that it cannot be written
	log  *slog.Logger
}

// keepOwned begins to keep a mark, with the content of the existing one. A new file gets its name
// when it holds a mark.
func keepOwned(files vfs.FS, path string, fact ownedFact, log *slog.Logger) (*owned, error) {
	fact.process = os.Getpid()
	o := &owned{fact: fact, log: log}
	name := files.PathJoin(path, markName)
	_, err := files.Stat(name)
	made := errors.Is(err, fs.ErrNotExist)
	if err != nil && !made {
		return nil, err
	}
	to := name
	if made {
		to = name + newSuffix
	}
	f, err := files.OpenReadWrite(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	if o.mark, err = mark.Keep(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	first := o.fact.appendTo(nil)
	if !made {
		err = o.mark.PutSynced(first)
	} else if err = o.mark.Begin(first); err == nil {
		if err = files.Rename(to, name); err == nil {
			err = syncFolder(files, path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, o.mark.Close())
	}
	return o, nil
}

// newSuffix is that of a file in the making.
const newSuffix = ".new"

// synced notes how far a file is on the disk. For a manifest the mark is made durable: after it
// others like it come in the life of a store.
func (o *owned) synced(f ownedFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.index(f)
	if i < 0 {
		o.fact.files = append(o.fact.files, f)
	} else {
		o.fact.files[i] = f
	}
	o.put(f.manifest)
}

func (o *owned) put(durable bool) {
	var space [mark.MaxFact]byte
	fact := o.fact.appendTo(space[:0])
	var err error
	if durable {
		err = o.mark.PutSynced(fact)
	} else {
		err = o.mark.Put(fact)
	}
	if err != nil && !o.told {
		o.told = true
		o.log.Warn("embedded store: its mark cannot be written, and the next start would not notice lost files; look at the disk", "err", err)
	}
}

func (o *owned) index(f ownedFile) int {
	for i, other := range o.fact.files {
		if other.manifest == f.manifest && other.number == f.number {
			return i
		}
	}
	return -1
}

// release takes a file out of the mark, durably: it is about to go.
func (o *owned) release(f ownedFile) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.index(f)
	if i < 0 {
		return nil
	}
	o.fact.files = append(o.fact.files[:i:i], o.fact.files[i+1:]...)
	var space [mark.MaxFact]byte
	return o.mark.PutSynced(o.fact.appendTo(space[:0]))
}

// releaseLogs notes that the tables have all that is in the logs.
func (o *owned) releaseLogs() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var manifests []ownedFile
	for _, f := range o.fact.files {
		if f.manifest {
			manifests = append(manifests, f)
		}
	}
	o.fact.files = manifests
	return o.mark.PutSynced(o.fact.appendTo(nil))
}

// noteLog notes where the write log ends.
func (o *owned) noteLog(end kv.LogEnd, durable bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fact.log = end
	var space [mark.MaxFact]byte
	fact := o.fact.appendTo(space[:0])
	if durable {
		return o.mark.PutSynced(fact)
	}
	return o.mark.Put(fact)
}

// noteTables notes a generation that the tables have.
func (o *owned) noteTables(now ownedTables, durable bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fact.tables = now
	var space [mark.MaxFact]byte
	fact := o.fact.appendTo(space[:0])
	if durable {
		return o.mark.PutSynced(fact)
	}
	return o.mark.Put(fact)
}

func (o *owned) tables() ownedTables {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fact.tables
}

func (o *owned) logEnd() kv.LogEnd {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fact.log
}

func (o *owned) close() error { return o.mark.Close() }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

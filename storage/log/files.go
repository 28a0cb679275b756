package log

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// files are those of a log that is open, and how far they hold records.
type files struct {
	opts    Options
	metrics *metrics
	// mu guards what follows, and the end of the active segment.
	mu        sync.Mutex
	segments  []*segment // ascending; the active one is the last
	spares    []spare
	leftovers []spare  // files that hold nothing and could not be removed
	end       Position // after the last record on the disk

	unsynced bool // the directory, after a failed SyncDir; Log.truncating guards it
}

// End returns the position after the last record on the disk: every record whose Append has
// returned is before it, every record whose Append begins later is not.
func (d *files) End() Position {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.end
}

// Size returns the bytes that the files take, reserved and spare ones included. It never passes
// MaxBytes.
func (d *files) Size() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sizeLocked()
}

// SegmentsLeft returns how many more segments of SegmentBytes MaxBytes allows.
func (d *files) SegmentsLeft() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.opts.MaxBytes
	for _, s := range d.segments {
		left -= s.size
	}
	return max(left, 0) / d.opts.SegmentBytes
}

func (d *files) sizeLocked() int64 {
	size := totalSize(d.spares) + totalSize(d.leftovers)
	for _, s := range d.segments {
		size += s.size
	}
	return size
}

func (d *files) countSegments() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return float64(len(d.segments))
}

// spare is the file of an emptied segment. Its blocks have been written before, so an fdatasync of
// a new record in them has no metadata to write, which makes it twice as fast as in blocks that are
// only reserved.
type spare struct {
	name string
	size int64
}

func totalSize(files []spare) (size int64) {
	for _, f := range files {
		size += f.size
	}
	return size
}

// takeSpare finds a spare file of at least size bytes.
func (d *files) takeSpare(size int64) (spare, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, s := range d.spares {
		if s.size >= size {
			d.spares = slices.Delete(d.spares, i, i+1)
			return s, true
		}
	}
	return spare{}, false
}

// makeRoom removes spare files until size more bytes are within MaxBytes.
func (d *files) makeRoom(size int64) error {
	for {
		old, ok, err := d.excess(size)
		if !ok || err != nil {
			return err
		}
		d.remove(old.name, old.size)
	}
}

// excess takes a spare file that must go before size more bytes are within MaxBytes. It is not ok
// if none must.
func (d *files) excess(size int64) (old spare, ok bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	used, n := d.sizeLocked(), len(d.spares)
	switch {
	case used+size <= d.opts.MaxBytes:
		return spare{}, false, nil
	case n == 0:
		return spare{}, false, fmt.Errorf("%w: %d bytes of %d in use", errLimit, used, d.opts.MaxBytes)
	}
	old = d.spares[n-1]
	d.spares = d.spares[:n-1]
	return old, true, nil
}

// forget takes the last segment out of the list.
func (d *files) forget(s *segment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.segments = slices.DeleteFunc(d.segments, func(other *segment) bool { return other == s })
}

func (d *files) close(s *segment) {
	if err := s.file.Close(); err != nil {
		d.opts.Logger.Warn("a segment of the log was not closed in order; look at the disk", "file", d.opts.path(s.number, suffixLog), "err", err)
	}
	s.file = nil
}

// remove removes a file that holds nothing. If that fails its bytes still count, until Truncate or
// Open removes it.
func (d *files) remove(name string, size int64) {
	if err := d.opts.FS.Remove(name); err != nil {
		d.metrics.failed(failedRemove, err)
		d.opts.Logger.Warn("a file of the log cannot be removed, and takes space; look at the disk and at the owner of the file", "file", name, "err", err)
		d.mu.Lock()
		d.leftovers = append(d.leftovers, spare{name, size})
		d.mu.Unlock()
	}
}

// oldestBefore returns the oldest segment if all its records are before a position.
func (d *files) oldestBefore(before Position) *segment {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.segments) < 2 || d.segments[0].endPosition().Compare(before) > 0 {
		return nil
	}
	return d.segments[0]
}

// tidy removes what could not be removed before. A segment that was given up empty is known as such
// only while its neighbours are there, so it must go before them.
func (d *files) tidy() error {
	for {
		d.mu.Lock()
		leftovers := d.leftovers
		d.mu.Unlock()
		if len(leftovers) == 0 {
			break
		}
		if err := d.opts.FS.Remove(leftovers[0].name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		d.unsynced = true
		d.mu.Lock()
		d.leftovers = d.leftovers[1:]
		d.mu.Unlock()
	}
	if !d.unsynced {
		return nil
	}
	return d.syncDir()
}

func (d *files) syncDir() error {
	err := d.opts.FS.SyncDir(d.opts.Dir)
	d.unsynced = err != nil
	return err
}

func (d *files) wantsSpare(s *segment) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !s.ruined && s.size >= d.opts.SegmentBytes && totalSize(d.spares)+s.size <= d.opts.SpareBytes
}

// drop takes the oldest segment out of the list.
func (d *files) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.segments = d.segments[1:]
}

package log

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options set where a log is and how large it may be.
type Options struct {
	// Dir is made if it is missing. No other process may have it open.
	Dir string

	// MarkPath is a file outside of Dir that records which segments there are, so that Open notices
	// missing ones (see extent); empty: none.
	MarkPath string

	// AtLeast is a position up to which, according to others, the log must exist. So Open also
	// notices a log that is missing together with its mark. Zero: there need be none.
	AtLeast Position

	// Owner is whose log it is. Open refuses files of others. Zero: it is the owner that the mark has,
	// or a new one; without a mark, nobody's.
	Owner Owner
	// Begun means that the owner has had this log before: its mark must be there.
	Begun bool
	// Adopts accepts the log of a version that knew no owners.
	Adopts bool
	// Left is the owner of a log that was ended, of which files are left since the disk takes no writes
	// (see Drop): they are passed over, and removed when it does.
	Left Owner
	// Cut is the first segment that the owner of a log that was begun may need: one before it may be
	// missing, one after it may not.
	Cut uint64
	// Note returns what the owner wants to read with the mark, 64 bytes at most: what holds when records
	// are put. It is kept whenever the mark is, and must not wait. nil: nothing is.
	Note func() []byte
	// Differs describes a file that has another owner than the log; nil: it is that of a store.
	Differs func(of Owner) string
	// BeforeSegment is called before a segment gets its name; an error refuses what it is for. nil:
	// nothing is.
	BeforeSegment func() error
	// Synced is told of the end of the log when more records are on the disk, before their Append
	// returns. It is called by one goroutine at a time. nil: nobody asks.
	Synced func(end Position)

	// SegmentBytes is the size of a file, which is reserved when the file is begun; 0 is 64 MiB.
	SegmentBytes int64
	// MaxBytes is the size of all files; 0 is 4 GiB. It must be at least two segments.
	MaxBytes int64
	// SpareBytes limits the emptied files that are kept for later segments, which halves the time
	// of an fdatasync; 0 is 256 MiB, negative none.
	SpareBytes int64
	// MaxRecordBytes is the size of one record; 0 is 64 MiB.
	MaxRecordBytes int64
	// GroupBytes is the memory for records that wait for the disk; twice as much is held. Larger
	// records are written from the caller's memory. 0 is 1 MiB.
	GroupBytes int64

	// FS is the file system; nil is OS.
	FS FS
	// Logger may be nil: nothing is logged.
	Logger *slog.Logger
	// Registerer may be nil: nothing is registered.
	Registerer prometheus.Registerer
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// longest is the largest MaxRecordBytes: a payload and what is before it in its group fit into 32
// bits.
const longest = 1 << 30

// withDefaults returns the options with every zero replaced.
func (o Options) withDefaults() Options {
	for _, field := range []struct {
		value *int64
		usual int64
	}{
		{&o.SegmentBytes, 64 << 20}, {&o.MaxBytes, 4 << 30}, {&o.SpareBytes, 256 << 20}, {&o.MaxRecordBytes, 64 << 20}, {&o.GroupBytes, 1 << 20},
	} {
		if *field.value == 0 {
			*field.value = field.usual
		}
	}
	o.SpareBytes = max(o.SpareBytes, 0)
	if o.FS == nil {
		o.FS = OS{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// validate wants what Open was given, with defaults.
func (o *Options) validate() error {
	switch {
	case o.Dir == "":
		return errors.New("log: no directory")
	case o.SegmentBytes < 256:
		return fmt.Errorf("log: segments of %d bytes, want 256 or more", o.SegmentBytes)
	case o.MaxRecordBytes < 1 || o.MaxRecordBytes > longest:
		return fmt.Errorf("log: records of up to %d bytes, want 1 to %d", o.MaxRecordBytes, longest)
	case o.GroupBytes < recordHeader || o.GroupBytes > longest:
		return fmt.Errorf("log: groups of %d bytes, want %d to %d", o.GroupBytes, recordHeader, longest)
	case o.MaxBytes < 2*o.largestSegment():
		// With less, the segment that is being written could take all the space, and Truncate could
		// free none.
		return fmt.Errorf("log: %d bytes in all, want %d or more: two of the largest segments", o.MaxBytes, 2*o.largestSegment())
	}
	return nil
}

// largestSegment returns the size of a segment for one record of the largest size, which may be
// larger than SegmentBytes.
func (o *Options) largestSegment() int64 {
	return max(o.SegmentBytes, segmentHeader+max(recordHeader+o.MaxRecordBytes, o.GroupBytes))
}

// path returns the name of a segment's file.
func (o *Options) path(number uint64, suffix string) string {
	return filepath.Join(o.Dir, fileName(number, suffix))
}

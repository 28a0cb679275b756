package write

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// Mode is when a point is durable.
type Mode string

const (
	// Through acknowledges what the engine has.
	Through Mode = "through"
	// Buffered acknowledges what the log on the local disk has. Points wait in memory until
	// their rows are flushed.
	Buffered Mode = "buffered"
)

// BufferOptions are those of WriteBuffered.
type BufferOptions struct {
	Dir string // of the log
	// of the marks by which a start misses what is gone of the log; empty: Dir
	MarkDir string
	// of the log's files; at half of it rows are flushed early, beyond appends fail
	MaxLogBytes   int64
	SegmentBytes  int64         // of one file of the log; 0: 64 MiB
	FlushInterval time.Duration // a row is flushed when its first point is this old
	FlushDelay    time.Duration // a row is flushed this long after its hour has ended
	// of rows in memory; beyond, the biggest are flushed early, and half as much more is refused
	MaxHeadBytes  int64
	CheckInterval time.Duration // how often is looked for rows to flush
	FS            log.FS        // nil: the operating system's

	// What the engine knows of the log; New asks it: where it ended last, and what the tables record.
	AtLeast kv.LogEnd
	State   kv.LogState
}

// DefaultBufferOptions are the options without a flag, but for the directory.
func DefaultBufferOptions() BufferOptions {
	return BufferOptions{
		MaxLogBytes: 4 << 30, FlushInterval: 2 * time.Hour, FlushDelay: 5 * time.Minute, MaxHeadBytes: 1 << 30, CheckInterval: time.Second,
	}
}

// Validate names the option that cannot work.
func (o BufferOptions) Validate() error {
	switch {
	case o.Dir == "":
		return errors.New("--write.log.path is empty: the log needs a directory")
	case o.MaxLogBytes < 1<<28:
		return errors.New("--write.log.max-bytes must be at least 256MiB")
	case o.FlushInterval <= 0 || o.FlushDelay < 0 || o.CheckInterval <= 0:
		return errors.New("--write.buffer.flush-interval must be above 0")
	case o.MaxHeadBytes < 1<<20:
		return errors.New("--write.buffer.max-bytes must be at least 1MiB")
	}
	return nil
}

// HoldsLog reports whether there is a log that was not ended in order: acknowledged points that the
// table may lack.
func (o BufferOptions) HoldsLog() (bool, error) {
	if o.Dir == "" {
		return false, nil
	}
	if o.State.Log != (kv.Generation{}) || o.atLeast() != (kv.LogEnd{}) {
		return true, nil // opening it reports what is missing
	}
	if o.FS == nil {
		o.FS = log.OS{}
	}
	if marked, err := log.Marked(o.FS, o.markPath("points")); marked || err != nil {
		return true, err // as above
	}
	files, err := o.FS.List(filepath.Join(o.Dir, "points"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for a log: %w", err)
	}
	return slices.ContainsFunc(files, func(name string) bool { return filepath.Ext(name) == ".log" }), nil
}

// atLeast returns up to where the log of points must be there.
func (o BufferOptions) atLeast() kv.LogEnd {
	switch s := o.State; {
	case s.Log != (kv.Generation{}):
		return s.Points.Later(o.AtLeast)
	case s.Store != 0 && !s.Adopts: // it was ended, and the tables have everything
		return kv.LogEnd{}
	}
	return o.AtLeast
}

// ask takes what an engine knows of the log.
func (o *BufferOptions) ask(keeper kv.LogKeeper) {
	if keeper != nil && o.Dir != "" {
		o.AtLeast, o.State = keeper.LogEnd(), keeper.LogState()
	}
}

// owned adds to the options of one of the two logs what the engine knows of it.
func (o BufferOptions) owned(name string, owner log.Owner, to log.Options) log.Options {
	to.MarkPath, to.Owner, to.Begun, to.Adopts = o.markPath(name), owner, o.State.Log != (kv.Generation{}), o.State.Adopts
	to.AtLeast, to.Cut = log.Position(o.State.Series), 0
	if name == "points" {
		to.AtLeast, to.Cut = log.Position(o.atLeast()), o.State.Cut
	}
	return to
}

// markPath is the mark of one of the two logs.
func (o BufferOptions) markPath(name string) string {
	return filepath.Join(cmp.Or(o.MarkDir, o.Dir), "log-"+name+".mark")
}

package tables

import (
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/memory"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// WriteAuto is buffered on the embedded engine, whose disk also holds the log. On HBase it is
// through: the adapter keeps no state of its own, and other readers see points at once.
const WriteAuto = "auto"

// writeMode returns the mode that --write.mode selects.
func (o Options) writeMode() write.Mode {
	switch {
	case o.WriteMode != WriteAuto:
		return write.Mode(o.WriteMode)
	case o.Engine == EngineEmbedded:
		return write.Buffered
	}
	return write.Through
}

// spools reports whether writes without an acknowledgement use a log although other writes go
// through: a cluster may be down.
func (o Options) spools() bool {
	return o.Unacknowledged && o.Engine == EngineHBase && o.writeMode() == write.Through
}

// The ages at which points are put into the table before their hour is over. Where writes go
// through, the log exists for outages, and other readers should see its points about as soon as the
// rest.
const (
	flushBuffered = 2 * time.Hour
	flushSpool    = 2 * time.Second
)

func (o Options) flushInterval() time.Duration {
	switch {
	case o.FlushInterval != 0:
		return o.FlushInterval
	case o.writeMode() == write.Buffered:
		return flushBuffered
	}
	return flushSpool
}

// LogFolder returns the directory of the log. By default it is in --storage.path, so that an embedded
// store is copied or moved with its log. With other engines that directory holds only the log.
func (o Options) LogFolder() string {
	switch {
	case o.LogPath != "":
		return o.LogPath
	case o.Path == "":
		return ""
	}
	return filepath.Join(o.Path, "log")
}

// HasSpoolSpace reports whether a disk has space for spools: they leave the store twice the space at which it
// takes no more writes. A disk whose free space is unknown has.
func (o Options) HasSpoolSpace(dir string) bool {
	free, err := pebble.FreeBytes(dir)
	return err != nil || free >= 2*uint64(o.MinFreeBytes) //nolint:gosec // not negative
}

// logMarkPath returns the directory of the marks of the log: that of the store, if there is one,
// where they survive a loss of the log.
func (o Options) logMarkPath() string {
	if o.Engine == EngineHBase && o.LogPath != "" || o.Path == "" {
		return o.LogPath
	}
	return o.Path
}

// seriesMemory is about how many bytes a series takes in the index, in caches and in its state.
const seriesMemory = 700

// SeriesLimits returns the store's limits on series.
func (o Options) SeriesLimits() register.SeriesLimits {
	active := o.ActiveSeries
	switch {
	case active == 0:
		active = int(memory.Machine() / 3 / seriesMemory)
	case active < 0:
		active = 0
	}
	limits := register.SeriesLimits{Active: active, PerSecond: o.NewSeries, Branches: o.NewBranches, Depth: o.PathDepth}
	if o.Command { // only the user of the command waits
		limits.Branches = 0
	}
	return limits
}

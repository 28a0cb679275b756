package adapter

import (
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// WriteAuto is buffered on the embedded engine, whose disk is the log's, and through on HBase, where it keeps the adapter without a state of its
// own and shows points to other readers at once.
const WriteAuto = "auto"

// writeMode is the mode that --write.mode means.
func (o Options) writeMode() storage.WriteMode {
	switch {
	case o.WriteMode != WriteAuto:
		return storage.WriteMode(o.WriteMode)
	case o.Engine == EngineEmbedded:
		return storage.WriteBuffered
	}
	return storage.WriteThrough
}

// spools says whether writes without an acknowledgement need a log though the others go through: a cluster may be away.
func (o Options) spools() bool {
	return o.Engine == EngineHBase && o.writeMode() == storage.WriteThrough && (o.Carbon.ListenAddress != "" || o.OpenTSDB.ListenAddress != "")
}

// The ages at which points are put into the table though their hour goes on. Where writes go through, the log is there for outages, and other readers
// should see its points about as soon as the rest.
const (
	flushBuffered = 2 * time.Hour
	flushSpool    = 2 * time.Second
)

func (o Options) flushInterval() time.Duration {
	switch {
	case o.FlushInterval != 0:
		return o.FlushInterval
	case o.writeMode() == storage.WriteBuffered:
		return flushBuffered
	}
	return flushSpool
}

// logPath is the directory of the log. The embedded engine's store may be copied or moved with its log; elsewhere --storage.path has nothing but it.
func (o Options) logPath() string {
	switch {
	case o.LogPath != "":
		return o.LogPath
	case o.Path == "":
		return ""
	}
	return filepath.Join(o.Path, "log")
}

// logMarkPath is the directory of the marks of the log: that of the store, where they outlive the log, if there is one.
func (o Options) logMarkPath() string {
	if o.Engine == EngineHBase && o.LogPath != "" || o.Path == "" {
		return o.LogPath
	}
	return o.Path
}

// seriesMemory is about what a series takes in memory, in the index, in caches and in its state.
const seriesMemory = 700

// seriesLimits are the limits of the store.
func (o Options) seriesLimits() storage.SeriesLimits {
	active := o.ActiveSeries
	switch {
	case active == 0:
		active = int(machineMemory() / 3 / seriesMemory)
	case active < 0:
		active = 0
	}
	return storage.SeriesLimits{Active: active, PerSecond: o.NewSeries}
}

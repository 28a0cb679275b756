package put

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// Options are what a Store needs. Appender and Registerer must be given.
type Options struct {
	Appender storage.Appender
	// CacheEntries is --storage.series-cache: how many series are found by their bytes.
	CacheEntries int
	// MaxTags is --opentsdb.max-tags: tags of a series; OpenTSDB's tsd.storage.max_tags.
	MaxTags int
	// SpecialChars is --opentsdb.allow-special-chars.
	SpecialChars string
	// Appends is how many appends run at once.
	Appends int
	// MaxFuture is --opentsdb.max-future: how far ahead of the clock a point may be; 0: no limit,
	// as in a TSD.
	MaxFuture time.Duration
	// Codecs are those of histograms, which Histograms puts.
	Codecs     Codecs
	Histograms HistogramStore
	// Rollups keep rolled up values; nil: these are refused.
	Rollups Rollups
	Rollup  RollupConfig
	// ReadOnly refuses all points.
	ReadOnly bool
	Refused  *rejections.Log // may be nil
	// Now is needed with MaxFuture.
	Now        func() time.Time
	Registerer prometheus.Registerer
}

// names are the rules of names.
func (o Options) names() putline.NameRules {
	return putline.NameRules{MaxTags: o.MaxTags, SpecialChars: o.SpecialChars}
}

// DefaultOptions has the limit of tags of a TSD.
func DefaultOptions() Options {
	return Options{CacheEntries: 2_000_000, MaxTags: 8, Appends: 4}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	switch {
	case o.CacheEntries <= 0:
		return fmt.Errorf("--storage.series-cache=%d: must be above 0", o.CacheEntries)
	case o.MaxFuture < 0:
		return fmt.Errorf("--opentsdb.max-future=%v: must not be negative", o.MaxFuture)
	case o.MaxTags <= 0 || o.MaxTags > storage.MaxTags:
		return fmt.Errorf("--opentsdb.max-tags=%d: must be between 1 and %d", o.MaxTags, storage.MaxTags)
	}
	return nil
}

// Store stores points of OpenTSDB's protocols. It is safe for concurrent use.
type Store struct {
	*ingest.Ingest
	o            Options
	rollups      *RollupStore
	telnet, http protocol
	dropped      atomic.Int64 // when a client had the caches dropped, nanoseconds since 1970
}

// New returns a Store over a store. The options are valid.
func New(o Options) *Store {
	in := &Store{o: o, Ingest: ingest.New(ingest.Options{
		Appender: o.Appender, CacheEntries: o.CacheEntries, Appends: o.Appends, MaxFuture: o.MaxFuture, Now: o.Now, Forms: true,
	})}
	in.rollups = &RollupStore{o: o.Rollup, rollups: o.Rollups, appender: o.Appender, names: o.names()}
	in.telnet.Counters, in.http.Counters = newCounters(o.Registerer)
	// PutDataPointRpc of 2.4: over HTTP floats become doubles on their way
	in.telnet.floats, in.http.floats = storage.FormFloat, storage.FormDouble
	return in
}

// dropPause is how long caches are kept after a client had them dropped. A client that asks all the
// time would otherwise have every series resolved all the time.
const dropPause = 10 * time.Second

// DropAsked is the command dropcaches of a TSD: all series are resolved again when they are met.
// Anybody who reaches the port may send it, so it does nothing shortly after it was done.
func (in *Store) DropAsked() {
	now := time.Now().UnixNano()
	if last := in.dropped.Load(); now-last >= int64(dropPause) && in.dropped.CompareAndSwap(last, now) {
		in.DropCaches()
	}
}

// A protocol is what differs between telnet and HTTP.
type protocol struct {
	ingest.Counters
	floats storage.Form // as which a TSD would store them
}

// job returns an empty job of a protocol, to be released.
func (in *Store) job(p *protocol) job { return job{in.Job(), in, p} }

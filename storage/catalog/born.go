package catalog

import (
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Births are the days in which series were registered. On tables of one process all are known, by the stamps of their rows;
// on shared tables those that came after this process had read which series there are. It takes 4 bytes for each series.
type Births struct {
	days index.Pages[bornDay]
	from atomic.Int64 // on shared tables, when all series were read, in milliseconds; 0: not yet
}

// bornDay is the day (since 1970) in which a series was registered, and one; 0: it is not known. It is read off the
// stamps of its row in tsdb-meta, the earliest of which is that of the registration, so it is stored nowhere else.
type bornDay struct{ atomic.Uint32 }

// Born notes that a series was registered at a time.
func (b *Births) Born(id index.ID, at time.Time) { b.days.Of(id).Store(bornAt(at.UnixMilli())) }

// begin notes that all series that there are have been read.
func (b *Births) begin(at time.Time) { b.from.CompareAndSwap(0, at.UnixMilli()) }

// came notes a series of shared tables that another process registered, if it came after begin.
func (b *Births) came(id index.ID, at time.Time) {
	if b.from.Load() > 0 {
		b.Born(id, at)
	}
}

// bornAt returns the bornDay of a time in milliseconds.
func bornAt(at int64) uint32 {
	if at <= 0 || at/dayMillis >= lastDay {
		return 0
	}
	return uint32(at/dayMillis) + 1
}

// bornOfRow returns the bornDay of a series by its row.
func bornOfRow(cells []kv.StoredCell) uint32 {
	first := int64(0)
	for i := range cells {
		c := &cells[i]
		if string(c.Qualifier) == string(own.SpanQualifier()) {
			continue // it is written with points, with any stamp
		}
		if c.Time > 0 && (first == 0 || c.Time < first) {
			first = c.Time
		}
	}
	return bornAt(first)
}

// registered returns the day in which a series was registered, -1 if it is not known.
func (b *Births) registered(id index.ID) int { return int(b.days.Of(id).Load()) - 1 }

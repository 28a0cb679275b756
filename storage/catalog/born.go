package catalog

import (
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// bornDay is the day (since 1970) in which a series was registered, and one; 0: it is not known. It is read off the
// stamps of its row in tsdb-meta, the earliest of which is that of the registration, so it is stored nowhere else.
type bornDay struct{ atomic.Uint32 }

// Born notes that a series was registered at a time. Nil Days know nothing.
func (p *Days) Born(id index.ID, at time.Time) {
	if p != nil {
		p.born.Of(id).Store(bornAt(at.UnixMilli()))
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
		if string(c.Qualifier) == string(schema.SpanQualifier()) {
			continue // it is written with points, with any stamp
		}
		if c.Time > 0 && (first == 0 || c.Time < first) {
			first = c.Time
		}
	}
	return bornAt(first)
}

// registered returns the day in which a series was registered, -1 if it is not known.
func (p *Days) registered(id index.ID) int { return int(p.born.Of(id).Load()) - 1 }

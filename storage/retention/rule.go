package retention

import (
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Rule is how long points of some series are kept. Of several rules that match a series the
// shortest age holds.
type Rule struct {
	Name string // for the log
	// Filters find at least the series of the rule, and Matches decides.
	Filters []storage.Filter
	Matches func(storage.Series) bool
	Age     time.Duration // points go by whole hours
}

// cutoff returns the end (seconds) of the hours that are over for as long as the age.
func (r *Rule) cutoff(now time.Time) uint32 {
	before := now.Add(-r.Age).UnixMilli()
	return schema.Base(min(max(before, 0), storage.MaxTime))
}

// mayHave reports whether series of a metric may match.
func (r *Rule) mayHave(metric string) bool {
	return storage.MayHave(r.Filters, metric)
}

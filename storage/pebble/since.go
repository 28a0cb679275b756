package pebble

import (
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// sinceProperty names the property of blocks and files that says when their rows last changed. A scan with Since
// steps over blocks, and whole files, that hold nothing as new.
const sinceProperty = "tsdbridge.changed"

// newSinceCollector records the time of rows as files are written.
func newSinceCollector() pebble.BlockPropertyCollector {
	return sstable.NewBlockIntervalCollector(sinceProperty, changed{}, nil)
}

// sinceMargin is how many milliseconds two changes that were under way at once may have been applied in the other
// order than their times say.
const sinceMargin = 60_000

// newSinceFilter passes what changed at since (milliseconds) or later, and a little more.
func newSinceFilter(since int64) pebble.BlockPropertyFilter {
	lower := uint64(max(since-sinceMargin, 0))
	return sstable.NewBlockIntervalFilter(sinceProperty, lower, math.MaxUint64, nil)
}

// changed maps an entry to the times at which it may matter.
//
// Stepping over an entry brings back what it hides on lower levels: that is safe if nothing there is as new as
// since either. So an entry counts with its latest change, also one that is no longer to be seen in it, which
// no older change to the row is later than; and a deletion of the row, which has no time, matters always.
type changed struct{}

var always = sstable.BlockInterval{Lower: 0, Upper: math.MaxInt64}

// MapPointKey implements sstable.IntervalMapper.
func (changed) MapPointKey(key sstable.InternalKey, value []byte) (sstable.BlockInterval, error) {
	if len(key.UserKey) == 0 || key.UserKey[0] == ownKeys {
		return always, nil
	}
	switch key.Kind() {
	case pebble.InternalKeyKindMerge, pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
	default:
		return always, nil
	}
	row, err := parseRow(value)
	if err != nil {
		return sstable.BlockInterval{}, err
	}
	return sstable.BlockInterval{Lower: uint64(row.last), Upper: uint64(row.last) + 1}, nil
}

// MapRangeKeys implements sstable.IntervalMapper. There are no range keys.
func (changed) MapRangeKeys(sstable.Span) (sstable.BlockInterval, error) {
	return always, nil
}

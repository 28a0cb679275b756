package layoutcheck

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	// leaps is how many rows are read from each begin of a sample, and leapWidth how many bytes of
	// a key a leap counts up: with usual widths the next row is another metric's, or months later.
	leaps     = 8
	leapWidth = 4
	// concurrentSamples is how many rows are read at a time.
	concurrentSamples = 5
)

// begins returns the keys where samples begin: the first UIDs of several widths, then salts and
// later UIDs. After 000001 there is a begin for the first tag of its TSUIDs and one for its hours
// from 2004 on, which other widths would hide.
func begins() [][]byte {
	return [][]byte{
		{0},
		{0, 0, 0, 1},
		{0, 0, 1},
		{0, 0, 1, 0, 0, 1},
		{0, 0, 1, 0x40},
		{0, 1},
		{1},
		{2},
		{4},
		{8},
		{16},
		{32},
		{64},
		{128},
	}
}

// A rowSeen is the key of a row and when its first cell was written, in milliseconds, if the engine
// returns that.
type rowSeen struct {
	key  []byte
	time int64
}

// sample reads some keys of a table, from all over it.
func (c *Checker) sample(ctx context.Context, table, family string) ([]rowSeen, error) {
	from := begins()
	parts := make([][]rowSeen, len(from))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentSamples)
	for i := range from {
		scan := kv.Scan{Table: table, Family: family, Start: from[i], KeysOnly: true, Limit: 1}
		if i+1 < len(from) {
			scan.Stop = from[i+1]
		}
		group.Go(func() (err error) { parts[i], err = c.leap(ctx, scan); return err })
	}
	err := group.Wait()
	return slices.Concat(parts...), err
}

// leap reads the first rows of several key prefixes.
func (c *Checker) leap(ctx context.Context, scan kv.Scan) (rows []rowSeen, err error) {
	for range leaps {
		var seen *rowSeen
		for row, err := range c.db.Scan(ctx, scan) {
			if err != nil {
				return nil, err
			}
			seen = &rowSeen{key: row.Key}
			for i, cell := range row.Cells {
				if i == 0 || cell.Time < seen.time {
					seen.time = cell.Time
				}
			}
		}
		if seen == nil {
			return rows, nil
		}
		if !isGlobalAnnotation(seen.key) {
			rows = append(rows, *seen)
		}
		if scan.Start = after(seen.key); scan.Start == nil || len(scan.Stop) > 0 && bytes.Compare(scan.Start, scan.Stop) >= 0 {
			return rows, nil
		}
	}
	return rows, nil
}

// after returns the first key that begins with other bytes than key does; nil if there is none.
func after(key []byte) []byte {
	next := bytes.Clone(key[:min(len(key), leapWidth)])
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next[:i+1]
		}
	}
	return nil
}

// isGlobalAnnotation reports whether a row belongs to no series: OpenTSDB keeps such annotations
// under a metric of zeros and a base time.
func isGlobalAnnotation(key []byte) bool {
	return len(key) > 4 && isZero(key[:len(key)-4])
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// fits reports whether a row of the data table was written with a layout: whole tags, UIDs that are
// not 0, a whole hour, the bucket of its series.
func fits(l schema.Layout, key []byte) bool {
	k, err := l.ParseRowKey(key)
	if err != nil || len(k.Tags) == 0 || k.Base%schema.RowSeconds != 0 || isZero(k.Metric) || !wholeTags(l, k.Tags) {
		return false
	}
	return l.SaltWidth == 0 || bytes.HasPrefix(key, l.AppendSalt(nil, l.Bucket(k.AppendTSUID(nil))))
}

func wholeTags(l schema.Layout, tags []byte) bool {
	for tagk, tagv := range l.Pairs(tags) {
		if isZero(tagk) || isZero(tagv) {
			return false
		}
	}
	return true
}

// tally is how many rows fit a layout, and when the oldest of them was written.
type tally struct {
	layout schema.Layout
	count  int
	oldest int64
}

func count(l schema.Layout, rows []rowSeen) tally {
	t := tally{layout: l, oldest: math.MaxInt64}
	for _, row := range rows {
		if fits(l, row.key) {
			t.count, t.oldest = t.count+1, min(t.oldest, row.time)
		}
	}
	return t
}

// beats reports whether a layout, which some of the rows fit that do not fit the flags, is the
// table's rather than that of the flags: all rows fit it, those of the flags by chance (a bucket is
// easily right), or its rows are older. The number of buckets alone may have been changed on
// purpose.
func (t tally) beats(own tally, rows []rowSeen) bool {
	if count(t.layout, rows).count == len(rows) {
		return true
	}
	return t.oldest < own.oldest && t.layout.PrefixWidth() != own.layout.PrefixWidth()
}

// validateRows returns what is wrong with the rows of the data table; layout has the widths of
// tsdb-uid. Where the table was written with a wrong flag before, so that some rows fit and some do
// not, the layout of the older ones is right.
func (c *Checker) validateRows(uids uidsFound, rows []rowSeen, layout schema.Layout) string {
	if len(rows) == 0 {
		return ""
	}
	if len(uids[storage.MetricName]) == 0 && !c.uids[storage.MetricName].Load() {
		return fmt.Sprintf("table %s has rows and table %s no UIDs: --storage.table.data and --storage.table.uid do not belong together", c.o.Data, c.o.UID)
	}
	own := count(c.o.Layout, rows)
	others := slices.DeleteFunc(slices.Clone(rows), func(row rowSeen) bool { return fits(c.o.Layout, row.key) })
	if len(others) == 0 {
		return ""
	}
	best := bestLayout(layout, others)
	switch {
	case own.count == 0 && best.count == 0:
		return fmt.Sprintf("--storage.table.data=%s: its rows are not those of an OpenTSDB with the UIDs of table %s, whatever the salt (the first one is %x)",
			c.o.Data, c.o.UID, others[0].key)
	case best.count == 0 || own.count > 0 && !best.beats(own, rows):
		c.warnOnce(c.o.Data, fmt.Sprintf("%d of %d rows that were looked at fit the flags", own.count, len(rows)))
		return ""
	}
	given, wanted := saltFlags(c.o.Layout), saltFlags(best.layout)
	if given == wanted {
		return "" // the widths alone are wrong, and named already
	}
	return fmt.Sprintf("%s, but the rows of table %s are written with another salt (the first one is %x): %s fits %d of the %d rows that were looked at, the flags %d",
		given, c.o.Data, others[0].key, wanted, best.count, len(rows), own.count)
}

// maxTriedBuckets is how many numbers of salt buckets are tried.
const maxTriedBuckets = 256

// bestLayout tries salts with the widths of a layout and returns the one that most rows fit; of
// equal ones the one with the layout's own salt, or with OpenTSDB's own number of buckets, or with
// the fewest.
func bestLayout(l schema.Layout, rows []rowSeen) tally {
	best := count(l, rows)
	try := func(width, buckets int) {
		l.SaltWidth, l.SaltBuckets = width, buckets
		if l.Validate() == nil {
			if t := count(l, rows); t.count > best.count {
				best = t
			}
		}
	}
	buckets := l.SaltBuckets
	for width := range maxWidth + 1 {
		try(width, buckets)
		try(width, schema.DefaultLayout().SaltBuckets)
		for n := 1; width > 0 && n <= maxTriedBuckets; n++ {
			try(width, n)
		}
	}
	return best
}

// saltFlags returns the flags of a layout's salt.
func saltFlags(l schema.Layout) string {
	if l.SaltWidth == 0 {
		return "--storage.salt.width=0"
	}
	return fmt.Sprintf("--storage.salt.width=%d --storage.salt.buckets=%d", l.SaltWidth, l.SaltBuckets)
}

// validateMeta returns what is wrong with the keys of tsdb-meta, which are TSUIDs. All processes
// ignore keys that are not TSUIDs.
func (c *Checker) validateMeta(rows []rowSeen) string {
	l := c.o.Layout
	for _, row := range rows {
		if metric, tags, err := l.ParseTSUID(row.key); err == nil && len(tags) > 0 && !isZero(metric) && wholeTags(l, tags) {
			return ""
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return fmt.Sprintf("--storage.table.meta=%s: its keys are not TSUIDs of a metric of %d bytes and tags of %d (the first one is %x)",
		c.o.Meta, l.MetricWidth, l.PairWidth(), rows[0].key)
}

package pebble

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// hourRows returns rows of so many metrics and series for one hour, in OpenTSDB's order of keys, of
// bytes that do not compress.
func hourRows(rng *rand.Rand, metrics, series, hour int) (rows []kv.Mutation) {
	for m := range metrics {
		for s := range series {
			key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(m)), uint32(hour)), uint32(s))
			value := make([]byte, 500)
			for i := range value {
				value[i] = byte(rng.Uint32())
			}
			rows = append(rows, kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte("q"), Value: value}}})
		}
	}
	return rows
}

// hoursOf returns the range of a metric's rows from an hour up to another.
func hoursOf(metric, from, to int) kv.KeyRange {
	at := func(hour int) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(metric)), uint32(hour))
	}
	return kv.KeyRange{From: at(from), To: at(to)}
}

// TestDeletedSpaceIsFreed deletes the older half of each metric from files at rest. The disk space is
// freed without further calls, whether the metrics are large or small.
func TestDeletedSpaceIsFreed(t *testing.T) {
	for name, size := range map[string]struct{ metrics, series int }{"many small": {2000, 2}, "few large": {4, 1000}} {
		t.Run(name, func(t *testing.T) {
			e := opened(t, Options{Path: t.TempDir(), Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}})
			rng := rand.New(rand.NewPCG(1, 2))
			const hours = 20
			for hour := range hours {
				apply(t, e, "f", hourRows(rng, size.metrics, size.series, hour))
			}
			e.mustFlush(t)
			e.mustCompact(t)
			before := e.db().Metrics().DiskSpaceUsage()
			var ranges []kv.KeyRange
			for m := range size.metrics {
				ranges = append(ranges, hoursOf(m, 0, hours/2))
			}
			held, err := e.DeleteRange(t.Context(), "t", ranges...)
			if err != nil || held != size.metrics {
				t.Fatalf("DeleteRange: %d ranges, %v; want %d", held, err, size.metrics)
			}
			e.mustFlush(t) // otherwise Pebble does it after deleteRangeDelay
			deadline := time.Now().Add(20 * time.Second)
			after := e.db().Metrics().DiskSpaceUsage()
			for after > before*6/10 && time.Now().Before(deadline) {
				time.Sleep(50 * time.Millisecond) // polling, with a deadline
				after = e.db().Metrics().DiskSpaceUsage()
			}
			t.Logf("%d MB before, %d MB after", before>>20, after>>20)
			if after > before*6/10 {
				t.Errorf("the store takes %d bytes after half of it was deleted, %d before", after, before)
			}
			if n := len(scanned(t, e, kv.Scan{})); n != size.metrics*size.series*hours/2 {
				t.Errorf("%d rows are left, want %d", n, size.metrics*size.series*hours/2)
			}
		})
	}
}

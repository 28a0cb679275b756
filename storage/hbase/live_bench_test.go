package hbase_test

import (
	"encoding/binary"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// BenchmarkWanted reads the rows of 100 series of many, two hours of a metric with a cell of 360
// points a row, in four ways: by their keys, as the index allows it, by their keys with their
// history, by a scan with a filter on the row key, and by reading all. It starts a real HBase.
//
//	TSDBRIDGE_E2E=1 go test -run '^$' -bench Wanted -benchtime 20x ./storage/hbase
//
// TSDBRIDGE_BENCH_SERIES is the number of series (default 100000).
func BenchmarkWanted(b *testing.B) {
	const wanted, hours = 100, 2
	series := 100_000
	if text := os.Getenv("TSDBRIDGE_BENCH_SERIES"); text != "" {
		var err error
		if series, err = strconv.Atoi(text); err != nil || series < wanted {
			b.Fatalf("TSDBRIDGE_BENCH_SERIES=%q", text)
		}
	}
	c := cluster.HBase(b, cluster.Options{HeapMB: 3072})
	e := benchTable(b, c, series, hours)
	match := &kv.Match{Prefix: 3 + 4, Key: 3, Value: 3, Tags: []kv.Tag{{Key: number3(1)}}}
	var keys [][]byte
	for i := range wanted {
		n := i * (series / wanted)
		match.Tags[0].Values = append(match.Tags[0].Values, number3(n))
		for hour := range hours {
			keys = append(keys, rowKey(n, hour))
		}
	}
	scan := kv.Scan{Table: table, Family: family, Start: rowKey(0, 0), Stop: rowKey(0, hours)}
	filtered := scan
	filtered.Match = match
	for _, way := range []struct {
		name string
		rows int
		read func() (int, error)
	}{
		{"keys", len(keys), func() (int, error) {
			rows, err := e.Get(b.Context(), table, family, keys)
			return countFull(rows), err
		}},
		{"history", len(keys), func() (int, error) {
			all, err := e.History(b.Context(), table, family, keys)
			rows := make([]kv.Row, len(all))
			for i := range all {
				rows[i] = all[i].Row
			}
			return countFull(rows), err
		}},
		{"regexp", len(keys), func() (int, error) { return countScan(b, e, filtered) }},
		{"all", series * hours, func() (int, error) { return countScan(b, e, scan) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			best := time.Hour
			for b.Loop() {
				begin := time.Now()
				if n, err := way.read(); err != nil || n != way.rows {
					b.Fatalf("%d rows, %v; want %d", n, err, way.rows)
				}
				best = min(best, time.Since(begin))
			}
			// what a busy machine disturbs least
			b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
		})
	}
}

// benchTable fills the table with rows of one metric and one tag.
func benchTable(b *testing.B, c *cluster.Cluster, series, hours int) *hbase.Engine {
	b.Helper()
	e, err := hbase.New(hbase.Options{ZooKeeper: c.ZooKeeper()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close() })
	spec := hbase.TableSpec{Name: table, Families: []hbase.Family{{Name: family, Bloom: "ROW", Encoding: "DIFF", Compression: hbase.CompressionAuto}}}
	if err := e.CreateTables(b.Context(), []hbase.TableSpec{spec}); err != nil {
		b.Fatal(err)
	}
	const points, chunk = 360, 10_000
	put := []kv.Put{{Qualifier: make([]byte, 2*points), Value: make([]byte, 4*points+1)}}
	for hour := range hours {
		for from := 0; from < series; from += chunk {
			var rows []kv.Mutation
			for n := from; n < min(from+chunk, series); n++ {
				rows = append(rows, kv.Mutation{Key: rowKey(n, hour), Puts: put})
			}
			if err := e.Apply(b.Context(), table, family, rows); err != nil {
				b.Fatal(err)
			}
		}
	}
	return e
}

// rowKey is metric 1, the hour, and tag 1 with the series' number as its value.
func rowKey(n, hour int) []byte {
	key := append(number3(1), binary.BigEndian.AppendUint32(nil, uint32(1_600_000_000/3600*3600+3600*hour))...)
	return append(append(key, number3(1)...), number3(n)...)
}

func number3(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n))[1:] }

func countFull(rows []kv.Row) int {
	n := 0
	for _, r := range rows {
		if len(r.Cells) > 0 {
			n++
		}
	}
	return n
}

func countScan(b *testing.B, e kv.KV, s kv.Scan) (int, error) {
	n := 0
	for _, err := range e.Scan(b.Context(), s) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

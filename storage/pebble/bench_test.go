package pebble

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// benchRows returns rows of one cell each, of the size of an hour of points in a compacted cell,
// under keys as in the data table.
func benchRows(n, hour int) []kv.Mutation {
	var all []kv.Mutation
	value := make([]byte, 40)
	for i := range n {
		key := binary.BigEndian.AppendUint32([]byte{0, 0, 1}, uint32(hour*3600))
		key = append(key, 0, 0, 1, 0, byte(i>>8), byte(i), 0, 0, 2, 0, byte(i>>16), 1)
		binary.BigEndian.PutUint64(value, uint64(i*hour))
		all = append(all, kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{0xf0, 0x00}, Value: value}}})
	}
	return all
}

// pointRows returns 10,000 rows of the hour's points of a series each, half constants and half
// counters.
func pointRows(hour int) []kv.Mutation {
	rng := rand.New(rand.NewPCG(1, uint64(hour)))
	all := benchRows(10_000, hour)
	for i := range all {
		v := float64(rng.IntN(1 << 30))
		var points []schema.Point
		for k := range rowPoints {
			if i%2 == 0 {
				v += float64(rng.IntN(1000))
			}
			p, _ := schema.FloatPoint(uint32(994+k*15_000), v, schema.ValuesAuto)
			points = append(points, p)
		}
		p := &all[i].Puts[0]
		p.Qualifier, p.Value = schema.AppendCell(nil, nil, points)
	}
	return all
}

const rowPoints = 240

// BenchmarkPoints puts, scans and gets rows of points.
func BenchmarkPoints(b *testing.B) {
	e := benchStore(b)
	hours := [][]kv.Mutation{pointRows(1), pointRows(2)}
	report := func(b *testing.B, rows int) {
		b.ReportMetric(float64(rows)*float64(b.N)*rowPoints/1e6/b.Elapsed().Seconds(), "Mpoints/s")
	}
	b.Run("put", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if err := e.ApplyUnlogged(b.Context(), "t", "f", hours[n%len(hours)]); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(hours[0]))
	})
	for _, hour := range hours {
		apply(b, e, "f", hour)
	}
	if err := e.Compact(b.Context(), "t"); err != nil {
		b.Fatal(err)
	}
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			for _, err := range e.Scan(b.Context(), kv.Scan{Table: "t", Family: "f"}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(e.db().Metrics().Total().TablesSize)/float64(2*len(hours[0])*rowPoints), "B/point")
		report(b, 2*len(hours[0]))
	})
	var keys [][]byte
	for i := 0; i < len(hours[0]); i += 100 {
		keys = append(keys, hours[0][i].Key)
	}
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Get(b.Context(), "t", "f", keys); err != nil {
				b.Fatal(err)
			}
		}
		report(b, len(keys))
	})
}

func benchStore(b *testing.B) *Engine {
	return opened(b, Options{Path: b.TempDir(), Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}})
}

func BenchmarkApply(b *testing.B) {
	e := benchStore(b)
	hours := [][]kv.Mutation{benchRows(2000, 1), benchRows(2000, 2), benchRows(2000, 3)}
	for n := 0; b.Loop(); n++ {
		apply(b, e, "f", hours[n%len(hours)])
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkScan(b *testing.B) {
	for _, where := range []string{"memory", "files"} {
		e := benchStore(b)
		const hours, rows = 10, 20_000
		for hour := range hours {
			apply(b, e, "f", benchRows(rows, hour))
		}
		if where == "files" {
			if err := e.db().Compact(b.Context(), []byte{1}, []byte{0xff}, false); err != nil {
				b.Fatal(err)
			}
		}
		var some [][]byte
		for i, m := range benchRows(rows, 0) {
			if i%1000 == 0 {
				some = append(some, m.Key[7:])
			}
		}
		for name, scan := range map[string]kv.Scan{
			"all":      {},
			"keys":     {KeysOnly: true},
			"since":    {Since: 1 << 50},
			"suffixes": {Match: &kv.Match{Prefix: 7, Key: 3, Value: 3, Suffixes: some}},
			"second tag": {Match: &kv.Match{
				Prefix: 7, Key: 3, Value: 3,
				Tags: []kv.Tag{{Key: []byte{0, 0, 2}, Values: [][]byte{{9, 9, 9}}}},
			}},
		} {
			scan.Table, scan.Family = "t", "f"
			b.Run(fmt.Sprintf("%s/%s", where, name), func(b *testing.B) {
				for b.Loop() {
					for _, err := range e.Scan(b.Context(), scan) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(hours*rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func BenchmarkGet(b *testing.B) {
	e := benchStore(b)
	apply(b, e, "f", benchRows(20_000, 1))
	var keys [][]byte
	for _, m := range benchRows(2000, 1) {
		keys = append(keys, m.Key)
	}
	for b.Loop() {
		if _, err := e.Get(b.Context(), "t", "f", keys); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkOpenInMemory(b *testing.B) {
	for b.Loop() {
		if err := opened(b, Options{InMemory: true}).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIncrement draws from one counter, as a burst of new names does; the cost must not grow
// with the number of draws.
func BenchmarkIncrement(b *testing.B) {
	e := benchStore(b)
	c := kv.Column{Table: "t", Family: "f", Row: []byte{0}, Qualifier: []byte("metrics")}
	for b.Loop() {
		if _, err := e.Increment(b.Context(), c, 1); err != nil {
			b.Fatal(err)
		}
	}
}

package index_test

import (
	"encoding/binary"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

func uid3(n int) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n))
	return string(b[1:])
}

// fleet appends the TSUID of series n of many: 500 metrics on each host, and seven tags, of which
// one is the host.
func fleet(dst []byte, n int) []byte {
	dst = append(dst, uid3(1+n%500)...)
	for key, value := range []int{n / 500, n % 500 / 8, n % 3, 0, n / 5000, n % 7, 1} {
		dst = append(append(dst, uid3(1+key)...), uid3(1+value)...)
	}
	return dst
}

const million = 1_000_000

func BenchmarkAdd(b *testing.B) {
	b.ReportAllocs()
	x := index.New(schema.DefaultLayout())
	var tsuids []byte
	var ends []int
	var ids []index.ID
	for n := range b.N {
		tsuids = fleet(tsuids, n)
		if ends = append(ends, len(tsuids)); len(ends) == 2000 {
			ids = x.AddAll(ids[:0], tsuids, ends)
			tsuids, ends = tsuids[:0], ends[:0]
		}
	}
}

// BenchmarkFind measures Candidates and Pass over a million series.
func BenchmarkFind(b *testing.B) {
	x := index.New(schema.DefaultLayout())
	for n := range million {
		if _, _, err := x.Add(fleet(nil, n)); err != nil {
			b.Fatal(err)
		}
	}
	host := func(n int) index.Condition {
		return index.Condition{Keys: []string{uid3(1)}, Values: map[string]bool{uid3(1 + n): true}}
	}
	hosts := index.Condition{Keys: []string{uid3(1)}, Values: map[string]bool{}}
	for n := range 100 {
		hosts.Values[uid3(1+17*n)] = true
	}
	for _, c := range []struct {
		name       string
		metrics    []string
		conditions []index.Condition
		want       int
	}{
		{"metric_of_100_hosts", []string{uid3(7)}, []index.Condition{hosts}, 100},
		{"host", nil, []index.Condition{host(99)}, 500},
		{"metric_but_a_host", []string{uid3(7)}, []index.Condition{{Keys: []string{uid3(1)}, Values: hosts.Values, Absent: true}}, 100},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if got := len(x.Pass(x.Candidates(c.metrics, c.conditions), c.conditions)); got != c.want {
					b.Fatalf("found %d series, want %d", got, c.want)
				}
			}
		})
	}
}

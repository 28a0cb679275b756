package index

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Shares count those series of a set that have a metric, a key, a tag.
func TestShares(t *testing.T) {
	x := New(schema.DefaultLayout())
	for i := range 100 { // ids 0 to 99: metric i%4+1, tags 1=i%10+1 and, of every second, 2=7
		tsuid := []byte{0, 0, byte(i%4 + 1), 0, 0, 1, 0, byte(i / 10), byte(i%10 + 1)}
		if i%2 == 0 {
			tsuid = append(tsuid, 0, 0, 2, 0, 0, 7)
		}
		if _, added, err := x.Add(tsuid); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	some := NewSome(x.Len(), func(id ID) bool { return id >= 90 })
	got := x.SharesOf(some, 2)
	if many := x.sharesOfMany(some, 2); !cmp.Equal(got.ByMetric, many.ByMetric) || !cmp.Equal(got.ByKey, many.ByKey) || !cmp.Equal(got.ByTag[0], many.ByTag[0]) {
		t.Errorf("by lists %+v, one by one %+v", many, got)
	}
	want := Shares{
		ByMetric: []Count{{"\x00\x00\x03", "", 3}, {"\x00\x00\x04", "", 3}},
		ByKey:    []Count{{"\x00\x00\x01", "", 10}, {"\x00\x00\x02", "", 5}},
		ByTag:    []Count{{"\x00\x00\x02", "\x00\x00\x07", 5}},
	}
	if len(got.ByTag) == 2 { // all other tags have one series each
		got.ByTag = got.ByTag[:1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var ids []ID
	some.Each(func(id ID) bool { ids = append(ids, id); return len(ids) < 3 })
	if some.Size() != 10 || !cmp.Equal(ids, []ID{90, 91, 92}) {
		t.Error(some.Size(), ids)
	}
	x.Remove([]ID{91})
	if got := x.SharesOf(some, 1); got.ByKey[0].Count != 9 {
		t.Errorf("%+v", got)
	}
	if got := x.SharesOf(NewSome(x.Len(), func(ID) bool { return false }), 1); len(got.ByKey) > 0 {
		t.Errorf("%+v", got)
	}
}

// A million series of eight tags are counted in less than a second.
func BenchmarkShares(b *testing.B) {
	x := New(schema.DefaultLayout())
	for i := range 1_000_000 {
		tsuid := []byte(fmt.Sprintf("\x00\x00%c", i%1000%128))
		for k := range 8 { // one of a million values, one of a thousand, others of few
			v := i % []int{1 << 20, 1000, 500, 100, 50, 20, 10, 3}[k]
			tsuid = append(tsuid, 0, 0, byte(k+1), byte(v>>16), byte(v>>8), byte(v))
		}
		if _, _, err := x.Add(tsuid); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		begin := time.Now()
		x.SharesOf(NewSome(x.Len(), func(ID) bool { return true }), 20)
		b.ReportMetric(time.Since(begin).Seconds(), "s/all")
		begin = time.Now()
		x.SharesOf(NewSome(x.Len(), func(id ID) bool { return id%16 == 0 }), 20)
		b.ReportMetric(time.Since(begin).Seconds(), "s/few")
	}
}

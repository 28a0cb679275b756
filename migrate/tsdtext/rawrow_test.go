package tsdtext

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// A row is printed as "tsdb scan" of OpenTSDB 2.4.1 does (src/tools/DumpSeries.java), cell by cell.
func TestRawRow(t *testing.T) {
	layout := store.DefaultOptions().Layout
	whole := []byte{0, 0, 1, 0x50, 0xe2, 0x27, 0, 0, 0, 1, 0, 0, 2}
	key, err := layout.ParseRowKey(whole)
	if err != nil {
		t.Fatal(err)
	}
	var points []schema.Point
	for _, v := range []int64{1, 300} {
		points = append(points, schema.IntPoint(uint32(v)*1000, v))
	}
	q, v := schema.AppendCell(nil, nil, points)
	got := AppendRawRow(nil, key, whole, storage.Series{Metric: "a.b", Tags: []storage.Tag{{Key: "host", Value: "x"}}}, []RawCell{
		{[]byte{0, 0}, []byte{42}},
		{[]byte{0xF0, 0, 0x7D, 0x0B}, []byte{0x3F, 0x80, 0, 0}},
		{q, v},
		{[]byte{5, 0, 0}, []byte{0, 0x10, 7}},
		{[]byte{1, 0, 60}, []byte(`{"description":"x"}`)},
		{[]byte{0x82, 0, 1}, []byte{1, 0xff}},
		{[]byte{0, 7}, []byte{1}},
	})
	const want = `[0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, 2] a.b 1356998400 (Tue Jan 01 00:00:00 UTC 2013) {host=x}
  [0, 0]	[42]	0	l	1356998400	(Tue Jan 01 00:00:00 UTC 2013)
  [-16, 0, 125, 11]	[63, -128, 0, 0]	500	f	1356998400500	(Tue Jan 01 00:00:00 UTC 2013)
  [0, 16, 18, -63]	[1, 1, 44, 0] = 2 values:
    [0, 16]	[1]	1	l	1356998401	(Tue Jan 01 00:00:01 UTC 2013)
    [18, -63]	[1, 44]	300	l	1356998700	(Tue Jan 01 00:05:00 UTC 2013)
  [5, 0, 0]	[0, 16, 7] = 1 values:
    [0, 16]	[7]	1	l	1356998401	(Tue Jan 01 00:00:01 UTC 2013)
  [1, 0, 60]	[123, 34, 100, 101, 115, 99, 114, 105, 112, 116, 105, 111, 110, 34, 58, 34, 120, 34, 125]	60	{"description":"x"}	1356998460	(Tue Jan 01 00:01:00 UTC 2013)
  [1, -1]	[Not a data point]
  [0, 7]	[1]	0	l	1356998400	(Tue Jan 01 00:00:00 UTC 2013)
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

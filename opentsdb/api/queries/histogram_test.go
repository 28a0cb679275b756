package queries_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// recordedHistograms is the file of recorded requests about histograms.
const recordedHistograms = "histograms"

// TestRecordHistograms records the replies of a real TSD to the requests about histograms anew. The TSD must be
// empty, with the codec SimpleHistogramDecoder of id 0 (opentsdb/testdata/README.md):
//
//	TSDBRIDGE_TSD=127.0.0.1:4242 go test ./opentsdb/api/queries -run TestRecordHistograms
func TestRecordHistograms(t *testing.T) {
	address := os.Getenv("TSDBRIDGE_TSD")
	if address == "" {
		t.Skip("TSDBRIDGE_TSD names no TSD")
	}
	record(t, address, recordedHistograms)
}

// TestRecordedHistograms replays requests about histograms, many of them wrong. Afterwards the table has the TSD's
// bytes.
func TestRecordedHistograms(t *testing.T) {
	disk, err := pebble.Open(pebble.Options{Path: t.TempDir(), Tables: storetest.Tables()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	for name, db := range map[string]kv.KV{"memory": kv.NewMem(storetest.Tables()...), "disk": disk} {
		t.Run(name, func(t *testing.T) {
			opentsdbtest.Replay(t, tsdtest.StartOver(t, db, withCodec), "testdata", recordedHistograms, "histogram-differences")
			want, err := os.ReadFile("testdata/histograms.cells")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.SplitAfter(string(want), "\n")[2:], histogramCells(t, db)); diff != "" {
				t.Errorf("cells (-TSD +ours)\n%s", diff)
			}
		})
	}
}

func withCodec(o *opentsdb.Options) { o.HistogramCodecs = "net.opentsdb.core.SimpleHistogramDecoder=0" }

// histogramCells lists the histograms in a table: row, qualifier, value.
func histogramCells(t *testing.T, db kv.KV) (lines []string) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if schema.ClassifyCell(c.Qualifier) == schema.CellHistogram {
				lines = append(lines, fmt.Sprintf("%X %X %X\n", row.Key, c.Qualifier, c.Value))
			}
		}
	}
	return append(lines, "")
}

// TestHistogramCodecs: the flag names the one codec that there is.
func TestHistogramCodecs(t *testing.T) {
	for _, c := range []struct {
		flag string
		want put.Codecs
		err  string // part of the error; empty: none
	}{
		{"", put.Codecs{}, ""},
		{"SimpleHistogramDecoder=0", put.Codecs{Enabled: true}, ""},
		{"net.opentsdb.core.SimpleHistogramDecoder=255", put.Codecs{Enabled: true, Simple: 255}, ""},
		{"SimpleHistogramDecoder=256", put.Codecs{}, "want a class and its id"},
		{"SimpleHistogramDecoder", put.Codecs{}, "want a class and its id"},
		{"SimpleHistogramDecoder=-1", put.Codecs{}, "want a class and its id"},
		{"org.example.Other=1", put.Codecs{}, "a TSD's plugins do not run here"},
		{"SimpleHistogramDecoder=1,net.opentsdb.core.SimpleHistogramDecoder=2", put.Codecs{}, "two ids"},
	} {
		o := tsdtest.Options("127.0.0.1:0")
		o.HistogramCodecs = c.flag
		codecs, _ := put.ParseCodecs(c.flag)
		switch err := o.Validate(); {
		case c.err == "" && (err != nil || codecs != c.want):
			t.Errorf("%q: %+v, %v", c.flag, codecs, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "--opentsdb.histogram-codecs")):
			t.Errorf("%q: %v, want %q", c.flag, err, c.err)
		}
	}
}

// TestHistogramBounds: what is too large is refused, alone.
func TestHistogramBounds(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	address := tsdtest.StartOver(t, db, withCodec)
	many := func(n int, element string) string { return strings.Repeat(element+",", n-1) + element }
	buckets := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d,%d":1,`, i, i+1)
		}
		return `{"metric":"h","timestamp":1356998400,"tags":{"a":"b"},"buckets":{` + strings.TrimSuffix(b.String(), ",") + `}}`
	}
	for _, c := range []struct {
		body   string
		status int
	}{
		{buckets(7000), 204},
		{buckets(8000), 400},
		{buckets(40_000), 400},
		{"[" + buckets(8000) + "," + buckets(1) + "]", 400},
		{"[" + many(50_001, "{}") + "]", 413},
		{`{"metric":"h","timestamp":1356998400,"tags":{"a":"b"},"buckets":` + strings.Repeat(`{"0,1":`, 600) + "1" + strings.Repeat("}", 600) + "}", 400},
		{`{"metric":"h","timestamp":1356998400,"tags":{"a":"b"},"x":` + strings.Repeat(`[`, 600) + strings.Repeat("]", 600) + "}", 400},
		{`{"metric":"h","timestamp":9999999999999,"tags":{"a":"b"},"buckets":{"0,1":1}}`, 400}, // no row has it
	} {
		response, err := http.Post("http://"+address+"/api/histogram", "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%.100s: status %d, want %d", c.body, response.StatusCode, c.status)
		}
	}
	if cells := histogramCells(t, db); len(cells) != 2 {
		t.Errorf("%d cells", len(cells)-1)
	}
}

// TestHistogramQueries: limits of points and deletions hold for histograms, which stay without a codec as they are.
func TestHistogramQueries(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	limited := func(most int) func(o *opentsdb.Options) {
		return func(o *opentsdb.Options) { o.HistogramCodecs, o.MaxPoints = "SimpleHistogramDecoder=0", most }
	}
	address := tsdtest.StartOver(t, db, limited(0))
	send := func(method, address, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		status, _, text := tsdtest.Exchange(t, r)
		return status, text
	}
	var list []string
	for i := range 6 {
		list = append(list, fmt.Sprintf(`{"metric":"h","timestamp":%d,"tags":{"host":"a"},"buckets":{"0,1":%d,"1,2":1}}`, 1356998400+i, i))
	}
	if status, text := send("POST", address, "/api/histogram", "["+strings.Join(list, ",")+"]"); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	if status, text := send("POST", address, "/api/put", `{"metric":"h","timestamp":1356998403,"value":1,"tags":{"host":"a"}}`); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	const query = "/api/query?start=1356998400&end=1356998410&m=sum:percentiles[50]:h"
	answer := func(dps string) string {
		return `[{"metric":"h_pct_50.0","tags":{"host":"a"},"aggregateTags":[],"dps":{` + dps + `}}]`
	}
	for _, c := range []struct {
		name, method, path string
		status             int
		want               string // empty: any
	}{
		{"all", "GET", query, 200, answer(`"1356998400":1.5,"1356998401":0.5,"1356998402":0.5,"1356998403":0.5,"1356998404":0.5,"1356998405":0.5`)},
		{"points", "GET", "/api/query?start=1356998400&end=1356998410&m=sum:h", 200, `[{"metric":"h","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998403":1}}]`},
		{"many percentiles", "GET", "/api/query?start=1356998400&m=sum:percentiles[" + strings.Repeat("1,", 1000) + "1]:h", 400, ""},
		{"deletion", "DELETE", "/api/query?start=1356998402&end=1356998403&m=sum:percentiles[50]:h", 200, answer(`"1356998402":0.5,"1356998403":0.5`)},
		{"the rest", "GET", query, 200, answer(`"1356998400":1.5,"1356998401":0.5,"1356998404":0.5,"1356998405":0.5`)},
		{"the point", "GET", "/api/query?start=1356998400&end=1356998410&m=sum:h", 200, `[]`},
	} {
		if status, text := send(c.method, address, c.path, ""); status != c.status || c.want != "" && text != c.want {
			t.Errorf("%s: %d %s, want %d %s", c.name, status, text, c.status, c.want)
		}
	}
	if n := len(histogramCells(t, db)); n != 5 {
		t.Errorf("%d cells, want 4", n-1)
	}
	if status, text := send("GET", tsdtest.StartOver(t, db, limited(3)), query, ""); status != http.StatusRequestEntityTooLarge {
		t.Errorf("4 histograms where 3 may be read: %d %s", status, text)
	}
	if status, text := send("GET", tsdtest.StartOver(t, db), query, ""); status != http.StatusOK || text != "[]" {
		t.Errorf("without a codec: %d %s", status, text)
	}
	if status, _ := send("POST", tsdtest.StartOver(t, db), "/api/histogram", "{}"); status != http.StatusServiceUnavailable {
		t.Errorf("a put without a codec: %d", status)
	}
}

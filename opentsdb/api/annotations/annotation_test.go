package annotations_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestRecordedAnnotations replays requests about annotations alone, many of them wrong. Afterwards the
// table has the TSD's bytes.
func TestRecordedAnnotations(t *testing.T) {
	disk, err := pebble.Open(pebble.Options{Path: t.TempDir(), Tables: storetest.Tables()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	for name, db := range map[string]kv.KV{"memory": kv.NewMem(storetest.Tables()...), "disk": disk} {
		t.Run(name, func(t *testing.T) {
			opentsdbtest.Replay(t, tsdtest.StartOver(t, db), "testdata", "annotations", "annotation-differences")
			want, err := os.ReadFile("testdata/annotations.cells")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.SplitAfter(string(want), "\n")[2:], annotationCells(t, db)); diff != "" {
				t.Errorf("cells (-TSD +ours)\n%s", diff)
			}
		})
	}
}

// annotationCells lists the annotations in a table: row, qualifier, value.
func annotationCells(t *testing.T, db kv.KV) (lines []string) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if schema.ClassifyCell(c.Qualifier) == schema.CellAnnotation {
				lines = append(lines, fmt.Sprintf("%X %X %s\n", row.Key, c.Qualifier, c.Value))
			}
		}
	}
	return append(lines, "")
}

// An annotationRequest is a request with the status that answers it.
type annotationRequest struct {
	method, path, body string
	header             string // name and value
	status             int
}

func (r annotationRequest) check(t *testing.T, address string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), r.method, "http://"+address+"/api/annotation"+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(r.header, ": "); ok {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != r.status {
		t.Errorf("%s %s %.80s %s: status %d, want %d: %.200s", r.method, r.path, r.body, r.header, response.StatusCode, r.status, text)
	}
}

const someNote = `{"startTime":1356998400,"notes":"n"}`

// TestWhoMayAnnotate: whoever may put points may annotate; deletions are edits. Pages of other origins
// change nothing.
func TestWhoMayAnnotate(t *testing.T) {
	const (
		foreign = "Origin: https://evil.example.org"
		image   = "Sec-Fetch-Site: cross-site"
	)
	for _, edits := range []bool{false, true} {
		address := tsdtest.StartOver(t, kv.NewMem(storetest.Tables()...), func(o *opentsdb.Options) { o.AllowEdits = edits })
		deleted := map[bool]int{false: http.StatusForbidden, true: http.StatusNoContent}[edits]
		deletedMany := map[bool]int{false: http.StatusForbidden, true: http.StatusOK}[edits]
		for _, r := range []annotationRequest{
			{"POST", "", someNote, "", 200},
			{"PUT", "", someNote, "", 200},
			{"POST", "", someNote, foreign, 403},
			{"POST", "/bulk", "[" + someNote + "]", "", 200},
			{"POST", "/bulk", "[" + someNote + "]", foreign, 403},
			{"POST", "s?start_time=5&notes=x", "", image, 403},
			{"GET", "?start_time=5&notes=x&method_override=post", "", "", 200},
			{"GET", "?start_time=5&notes=x&method_override=post", "", image, 403},
			{"GET", "?start_time=5&notes=x&method_override=put&jsonp=f", "", foreign, 403},
			{"GET", "?start_time=5&method_override=delete", "", image, 403},
			{"GET", "?start_time=5", "", foreign, 200},
			{"GET", "s?start_time=5", "", image, 200},
			{"DELETE", "?start_time=5", "", foreign, 403},
			{"DELETE", "/bulk?start_time=5&global", "", foreign, 403},
			{"DELETE", "/bulk?start_time=5&global", "", "", deletedMany},
			{"GET", "/bulk?start_time=5&global&method_override=delete", "", "", deletedMany},
			{"GET", "?start_time=5&method_override=delete", "", "", deleted},
			{"DELETE", "?start_time=5", "", "", deleted},
			{"DELETE", "s?start_time=5", "", "", deleted},
		} {
			r.check(t, address)
		}
	}
}

// TestAnnotationBounds: what is too large is refused before anything is stored.
func TestAnnotationBounds(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	address := tsdtest.StartOver(t, db)
	many := func(n int, element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	deep := strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000)
	for _, r := range []annotationRequest{
		{"POST", "", `{"startTime":1,"notes":"` + strings.Repeat("x", 65<<10) + `"}`, "", 413},
		{"POST", "", `{"startTime":1,"custom":{"` + strings.Repeat("x", 65<<10) + `":"v"}}`, "", 413},
		{"POST", "", `{"startTime":1,"notes":"` + strings.Repeat("x", 5<<20) + `"}`, "", 413},
		{"POST", "", `{"startTime":1,"unknown":` + deep + `}`, "", 500},
		{"POST", "", `{"startTime":1,"custom":{"a":` + deep + `}}`, "", 500},
		{"POST", "/bulk", `[{"startTime":1,"notes":"x","custom":{` + strings.Repeat(`"a":1,`, 200_000) + `"b":1}}]`, "", 413},
		{"GET", "?start_time=1&tsuid=" + strings.Repeat("AB", 1000), "", "", 500},
		{"POST", "", `{"startTime":1,"notes":"x","tsuid":"` + strings.Repeat("0", 1<<17) + `"}`, "", 400},
		{"POST", "/bulk", many(10_001, `{"startTime":1,"notes":"x"}`), "", 413},
		{"POST", "/bulk", many(1<<20, "{}"), "", 400},
		{"POST", "/bulk", many(2<<20, `{"startTime":1}`), "", 413},
		{"POST", "/bulk", "[" + deep + "]", "", 400},
		{"POST", "/bulk", strings.Repeat("[", 100_000), "", 400},
		{"POST", "/bulk", `[{"startTime":1,"notes":"good"},{"startTime":2,"notes":"` + strings.Repeat("x", 65<<10) + `"}]`, "", 413},
		{"POST", "/bulk", `[{"startTime":1,"notes":"good"},{"startTime":2,"notes":"x","tsuid":"zz"}]`, "", 400},
		{"POST", "/bulk", `[{"startTime":1,"notes":"good"},[]]`, "", 400},
		{"DELETE", "/bulk", `{"startTime":1,"tsuids":` + many(1001, `"000001000001000001"`) + `}`, "", 413},
		{"DELETE", "/bulk", `{"startTime":1,"tsuids":[""]}`, "", 400},
		{"DELETE", "/bulk", `{"startTime":1,"tsuids":[{}]}`, "", 400},
		{"DELETE", "/bulk", `{"startTime":{},"global":true}`, "", 400},
		{"DELETE", "/bulk?start_time=1&tsuids=000001000001000001,", "", "", 400},
	} {
		r.check(t, address)
	}
	if cells := annotationCells(t, db); len(cells) > 1 {
		t.Errorf("stored %.400q", cells)
	}
	annotationRequest{"POST", "/bulk", many(10_000, `{"startTime":1,"notes":"x"}`), "", 200}.check(t, address)
}

package hbase_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// tsdRow is the one row that a TSD writes to in testTSD.
type tsdRow struct {
	*testing.T
	tsd *cluster.TSD
	e   *hbase.Engine
	key []byte
}

const (
	tsdTable = "marks"
	tsdHour  = 1356998400
)

// testTSD shows what puts, compactions and deletions of a TSD leave in a row: the server's clock
// stamps everything; a compaction deletes its sources one by one, after it has put its own cell; a
// deletion of a query or a scan is one of the whole family.
func testTSD(t *testing.T, c *cluster.Cluster) {
	r := newTSDRow(t, c)
	begin := time.Now().UnixMilli()
	r.put(0, 1)
	r.findKey()
	r.put(10, 2)
	r.put(10, 9)
	h := r.history()
	r.wantTexts("after puts", h, "0000=01 00a0=09", "00a0=02", "")
	for _, cell := range append(h.Cells, h.Hidden...) {
		r.within("a put", begin, cell.Time)
	}

	r.query(http.MethodGet)
	h = r.until("compacted", func(h kv.History) bool { return len(h.Deletes) > 0 })
	r.wantTexts("after a compaction", h, "000000a0=010900", "0000=01 00a0=09 00a0=02", "0000 00a0")
	for _, d := range h.Deletes {
		r.within("a deletion by a compaction", h.Cells[0].Time, d.Time)
	}
	r.ours([]byte{0, 0}, h.Deletes[0].Time)
	r.wantTexts("after a put that is not later than a deletion", r.history(), "000000a0=010900", "0000=6f757273 0000=01 00a0=09 00a0=02", "0000 00a0")

	begin = time.Now().UnixMilli()
	r.query(http.MethodDelete)
	r.wantGone("deleted by a query", begin)
	r.put(10, 7)
	begin = time.Now().UnixMilli()
	// OpenTSDB's scan can end with 0 before it has deleted anything.
	for range 5 {
		if out, err := r.tsd.Tool(t.Context(), "DumpSeries", "--delete", fmt.Sprint(tsdHour), fmt.Sprint(tsdHour+60), "sum", "m"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if len(r.history().Cells) == 0 {
			break
		}
	}
	r.wantGone("deleted by a scan", begin)
}

func newTSDRow(t *testing.T, c *cluster.Cluster) *tsdRow {
	e := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()})
	names := hbase.TableNames{Data: tsdTable, UID: tsdTable + "-uid", Meta: tsdTable + "-meta", Tree: tsdTable + "-tree"}
	if err := e.CreateTables(t.Context(), hbase.OpenTSDBTables(names, hbase.TableOptions{MetricWidth: 3})); err != nil {
		t.Fatal(err)
	}
	tsd, err := c.TSD(t.Context(), cluster.TSDOptions{Tables: tsdTable, Compaction: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tsd.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &tsdRow{T: t, tsd: tsd, e: e}
}

// put has the TSD put a point and waits until HBase has it.
func (r *tsdRow) put(at, value int) {
	r.Helper()
	r.ask(http.MethodPost, "/api/put?sync&details", fmt.Sprintf(`{"metric":"m","timestamp":%d,"value":%d,"tags":{"host":"a"}}`, tsdHour+at, value))
}

func (r *tsdRow) query(method string) {
	r.Helper()
	r.ask(method, fmt.Sprintf("/api/query?start=%d&end=%d&m=sum:m", tsdHour, tsdHour+60), "")
}

func (r *tsdRow) ask(method, path, body string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, r.tsd.URL()+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode >= 300 {
		r.Fatalf("%s %s: %s, %v\n%s", method, path, response.Status, err, text)
	}
}

func (r *tsdRow) findKey() {
	r.Helper()
	for row, err := range r.e.Scan(r.Context(), kv.Scan{Table: tsdTable, Family: "t"}) {
		if err != nil {
			r.Fatal(err)
		}
		r.key = row.Key
	}
}

func (r *tsdRow) history() kv.History {
	r.Helper()
	all, err := r.e.History(r.Context(), tsdTable, "t", [][]byte{r.key})
	if err != nil {
		r.Fatal(err)
	}
	return all[0]
}

// until waits for what the TSD does at a time of its own.
func (r *tsdRow) until(what string, so func(kv.History) bool) kv.History {
	r.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		h := r.history()
		if so(h) {
			return h
		}
		if time.Now().After(deadline) {
			r.Fatalf("not %s: %+v", what, h)
		}
	}
}

// ours puts a cell with a stamp.
func (r *tsdRow) ours(qualifier []byte, stamp int64) {
	r.Helper()
	put := []kv.Put{{Qualifier: qualifier, Value: []byte("ours"), Time: stamp}}
	if err := r.e.Apply(r.Context(), tsdTable, "t", []kv.Mutation{{Key: r.key, Puts: put}}); err != nil {
		r.Fatal(err)
	}
}

// wantGone waits until the row is empty and checks what hides it: puts up to that very time.
func (r *tsdRow) wantGone(what string, begin int64) {
	r.Helper()
	h := r.until(what, func(h kv.History) bool { return len(h.Cells) == 0 })
	d := h.Deletes[0]
	if d.Qualifier != nil || d.Exact {
		r.Fatalf("%s: deletion %+v, want one of the family", what, d)
	}
	r.within(what, begin, d.Time)
	r.ours([]byte("q"), d.Time)
	if h := r.history(); len(h.Cells) > 0 {
		r.Errorf("%s: a put with the stamp of the deletion is read: %v", what, h.Cells)
	}
	r.ours([]byte("q"), d.Time+1)
	if h := r.history(); len(h.Cells) != 1 {
		r.Errorf("%s: a put with a later stamp is not read: %+v", what, h)
	}
}

// within checks that a stamp comes from the server's clock, which is this machine's.
func (r *tsdRow) within(what string, begin, stamp int64) {
	r.Helper()
	if now := time.Now().UnixMilli(); stamp < begin || stamp > now {
		r.Errorf("the stamp of %s is %d, want one from %d to %d", what, stamp, begin, now)
	}
}

// wantTexts compares a history with cells as qualifier=value in hexadecimal, and deleted
// qualifiers.
func (r *tsdRow) wantTexts(what string, h kv.History, read, hidden, deleted string) {
	r.Helper()
	var deletes []string
	for _, d := range h.Deletes {
		deletes = append(deletes, fmt.Sprintf("%x", d.Qualifier))
		if d.Qualifier == nil || d.Exact {
			r.Errorf("%s: deletion %+v, want one of a cell", what, d)
		}
	}
	got := [3]string{hexTexts(h.Cells), hexTexts(h.Hidden), strings.Join(deletes, " ")}
	if want := [3]string{read, hidden, deleted}; got != want {
		r.Errorf("%s: read, hidden, deleted %q, want %q", what, got, want)
	}
}

func hexTexts(cells []kv.Cell) string {
	var all []string
	for _, c := range cells {
		all = append(all, fmt.Sprintf("%x=%x", c.Qualifier, c.Value))
	}
	return strings.Join(all, " ")
}

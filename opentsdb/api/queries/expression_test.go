package queries_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// expressions is the file of recorded ones.
const expressions = "expressions"

// TestRecordedExpressions replays the expressions that a TSD was asked after the writes of the first file.
func TestRecordedExpressions(t *testing.T) {
	address := tsdtest.Start(t)
	sendWrites(t, address)
	opentsdbtest.Replay(t, address, "testdata", expressions, "expression-differences")
}

func sendWrites(t *testing.T, address string) {
	for _, e := range opentsdbtest.ReadExchanges(t, "../../testdata/tsd") {
		if e.Phase == "write" {
			e.Send(t, address)
		}
	}
}

// TestRecordExpressions records the replies of a real TSD to the expressions anew. The TSD must be empty,
// with the options in opentsdb/testdata/README.md:
//
//	TSDBRIDGE_TSD=127.0.0.1:4242 go test ./opentsdb/api/queries -run TestRecordExpressions
func TestRecordExpressions(t *testing.T) {
	address := os.Getenv("TSDBRIDGE_TSD")
	if address == "" {
		t.Skip("TSDBRIDGE_TSD names no TSD")
	}
	sendWrites(t, address)
	record(t, address, expressions)
}

// record sends the requests of a file to a TSD, and writes the file anew with its replies. What was put can be read
// after some seconds.
func record(t *testing.T, address, name string) {
	t.Helper()
	var out bytes.Buffer
	file := gzip.NewWriter(&out)
	lines := json.NewEncoder(file)
	lines.SetEscapeHTML(false)
	phase := ""
	for _, e := range opentsdbtest.ReadExchanges(t, "testdata/"+name) {
		if e.Phase != phase && phase != "" {
			time.Sleep(5 * time.Second)
		}
		phase = e.Phase
		got := e.Send(t, address)
		e.Status, e.ContentType, e.Reply = got.Status, got.ContentType, withoutTrace(got.Reply)
		if err := lines.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/"+name+".jsonl.gz", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withoutTrace leaves out the stack of an error, and objects behind their classes in its words.
func withoutTrace(reply any) any {
	failed, ok := opentsdbtest.Field(reply, "error").(map[string]any)
	if !ok {
		return reply
	}
	delete(failed, "trace")
	for _, name := range []string{"message", "details"} {
		if text, ok := failed[name].(string); ok && strings.Contains(text, "ExpressionIterator(") {
			failed[name], _, _ = strings.Cut(text, "ExpressionIterator(")
		}
	}
	return reply
}

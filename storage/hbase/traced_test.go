package hbase_test

import (
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Requests to HBase have a span each, with the region server that answered; rows have none.
func TestRequestSpans(t *testing.T) {
	_, e := fake(t, hbase.Options{})
	recorder := tracetest.NewSpanRecorder()
	ctx, root := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("").Start(t.Context(), "request")
	rows := puts(0, 100, 2)
	if err := e.Apply(ctx, table, family, rows); err != nil {
		t.Fatal(err)
	}
	if got, err := scanAll(ctx, e, kv.Scan{Table: table, Family: family}); err != nil || len(got) != len(rows) {
		t.Fatal(len(got), err)
	}
	root.End()
	count := map[string]int{}
	for _, s := range recorder.Ended() {
		count[s.Name()]++
		attributes := map[string]string{}
		for _, a := range s.Attributes() {
			attributes[string(a.Key)] = a.Value.String()
		}
		if strings.HasPrefix(s.Name(), "hbase ") && (attributes["table"] != table || attributes["server"] == "") {
			t.Errorf("%s: %v", s.Name(), attributes)
		}
	}
	if n := count["hbase Multi"]; n == 0 || n > 5 {
		t.Errorf("%d requests write %d rows", n, len(rows))
	}
	if n := count["hbase Scan"]; n == 0 || n > 5 {
		t.Errorf("%d requests scan %d rows", n, len(rows))
	}
}

package kv_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

// Calls of an engine have a span each, however many rows they read, and however early they are left.
func TestEngineSpans(t *testing.T) {
	e := kv.NewEngine(kv.NewMem(kvtest.Tables()...), true)
	var rows []kv.Mutation
	for _, key := range []string{"a", "b", "c"} {
		rows = append(rows, kv.Mutation{Key: []byte(key), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("v")}}})
	}
	if err := e.Put(t.Context(), "tsdb", "t", rows); err != nil {
		t.Fatal(err)
	}
	recorder := tracetest.NewSpanRecorder()
	ctx, root := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("").Start(t.Context(), "request")
	scan := kv.Scan{Table: "tsdb", Family: "t"}
	visited := func(key []byte, _ []kv.StoredCell) error { return nil }
	read := func(ctx context.Context) {
		_, _ = e.Get(ctx, "tsdb", "t", [][]byte{[]byte("a"), []byte("x")})
		for range e.Scan(ctx, scan) {
			break
		}
		for range e.Scan(ctx, kv.Scan{Table: "absent", Family: "t"}) {
		}
		_ = e.Rows.GetStored(ctx, "tsdb", "t", [][]byte{[]byte("a")}, false, func(int, []kv.StoredCell) error { return nil })
		_ = e.Rows.ScanStored(ctx, scan, visited)
	}
	read(ctx)
	read(t.Context())
	root.End()
	var got []string
	for _, s := range recorder.Ended() {
		text := s.Name() + " " + s.Status().Code.String()
		for _, a := range s.Attributes() {
			text += " " + string(a.Key) + "=" + a.Value.String()
		}
		got = append(got, text)
	}
	want := []string{
		"get rows Unset table=tsdb rows.asked=2",
		"scan rows Unset table=tsdb rows.found=1",
		"scan rows Error table=absent rows.found=0",
		"get rows Unset table=tsdb rows.asked=1",
		"scan rows Unset table=tsdb rows.found=3",
		"request Unset",
	}
	if !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// BenchmarkSpansOff is what the spans of a call cost when there are none.
func BenchmarkSpansOff(b *testing.B) {
	engine := kv.NewEngine(kv.NewMem(kvtest.Tables()...), true)
	visit := func(int, []kv.StoredCell) error { return nil }
	keys := [][]byte{[]byte("absent")}
	for name, rows := range map[string]kv.RowViewer{"with": engine.Rows, "without": engine.Local} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := rows.GetStored(b.Context(), "tsdb", "t", keys, false, visit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

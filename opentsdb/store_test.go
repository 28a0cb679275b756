package opentsdb

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// The puts of both protocols are in a store of the schema, in one series whichever protocol sent
// them.
func TestOverAStore(t *testing.T) {
	o := store.DefaultOptions()
	o.Exclusive = true
	var tables []kv.Table
	for _, table := range []string{o.Tables.Data, o.Tables.UID, o.Tables.Meta, o.Tables.Tree} {
		tables = append(tables, kv.Table{Name: table, Families: []string{"t", "id", "name"}})
	}
	store, err := store.New(kv.NewMem(tables...), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	l := run(t, store, nil)
	conn := l.dial(t)
	send(t, conn, "put sys.cpu 1356998400 42 host=a dc=l\nput sys.cpu 1356998401.500 0.1 dc=l host=a\nexit\n")
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Fatal("exit was answered")
	}
	res := post(t, l, `[{"metric":"sys.cpu","timestamp":1356998402,"value":"2.5","tags":{"host":"a","dc":"l"}},{"metric":"sys:cpu","timestamp":1,"value":1,"tags":{"host":"a"}}]`)
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", res.StatusCode)
	}
	if diff := cmp.Diff("sys.cpu{dc=l,host=a} [1356998400000 1356998401500 1356998402000] [42 0.1 2.5]\n", contents(t, store)); diff != "" {
		t.Errorf("the store holds (-want +got):\n%s", diff)
	}
}

func contents(t *testing.T, store *store.Store) string {
	for store.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the store does not get ready")
		}
	}
	found, err := store.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range found {
		for p, err := range store.Select(t.Context(), storage.Query{Refs: []storage.Ref{f.Ref}, End: storage.MaxTime, Samples: true}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, opentsdbtest.SeriesName(f.Series), p.Times, p.Values)
		}
	}
	return b.String()
}

package hbase

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestCreateTablesEnds: no cluster answers, so making tables ends with the time limit of an operation, and the error tells
// which address does not answer.
func TestCreateTablesEnds(t *testing.T) {
	e, err := New(Options{ZooKeeper: "127.0.0.1:1", Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err = e.CreateTables(ctx, []TableSpec{{Name: "tsdb"}})
	if err == nil || ctx.Err() != nil {
		t.Fatalf("%v, %v", err, ctx.Err())
	}
	if text := err.Error(); !strings.HasPrefix(text, "create table tsdb: ") || !strings.Contains(text, "127.0.0.1:1") {
		t.Errorf("%s", text)
	}
}

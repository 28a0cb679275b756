package storage_test

import (
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

func TestPinLayout(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	salted := func(o *storage.Options) { o.Layout.SaltWidth = 1 }
	if err := openStore(t, db).PinLayout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := openStore(t, db).PinLayout(t.Context()); err != nil {
		t.Errorf("the same layout again: %v", err)
	}
	err := openStore(t, db, salted).PinLayout(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--storage.salt.width=0") || !strings.Contains(err.Error(), "--storage.salt.width=1") {
		t.Errorf("another layout: %v", err)
	}
	shared := func(o *storage.Options) { o.Exclusive = false }
	if err := openStore(t, db, salted, shared).PinLayout(t.Context()); err != nil {
		t.Errorf("shared tables: %v", err)
	}
}

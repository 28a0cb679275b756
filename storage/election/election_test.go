package election

import (
	"context"
	"errors"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

const table = "tsdb-tree"

func engines() map[string]*kv.Engine {
	tables := kv.Table{Name: table, Families: []string{schema.FamilyData}}
	return map[string]*kv.Engine{
		"local":  kv.NewEngine(kv.NewMem(tables), true),
		"shared": kv.NewEngine(kv.NewShared(tables), false),
	}
}

func TestBook(t *testing.T) {
	for name, db := range engines() {
		t.Run(name, func(t *testing.T) {
			ctx, one, other := t.Context(), New(db, table), New(db, table)
			none, err := one.Read(ctx, "c")
			if err != nil || none.Election != (storage.Election{}) {
				t.Fatal(none, err)
			}
			first, put, err := one.Replace(ctx, "c", none, storage.Election{Elected: "a", Since: 1, Heard: 1})
			if err != nil || !put {
				t.Fatal(put, err)
			}
			if _, put, err = other.Replace(ctx, "c", none, storage.Election{Elected: "b", Since: 1, Heard: 1}); err != nil || put {
				t.Fatal("two processes have elected:", put, err)
			}
			read, err := other.Read(ctx, "c")
			if err != nil || read.Election != first.Election {
				t.Fatal(read, err)
			}
			if _, put, err = other.Replace(ctx, "c", read, storage.Election{Elected: "b", Since: 2, Heard: 2}); err != nil || !put {
				t.Fatal(put, err)
			}
			if _, put, err = one.Replace(ctx, "c", first, storage.Election{Elected: "a", Since: 1, Heard: 3}); err != nil || put {
				t.Fatal("one that is elected no more goes on:", put, err)
			}
			if err = one.Forget(ctx, "c"); err != nil {
				t.Fatal(err)
			}
			if read, err = other.Read(ctx, "c"); err != nil || read.Election != (storage.Election{}) {
				t.Fatal(read, err)
			}
		})
	}
}

// flushed counts what is made durable.
type flushed struct {
	*kv.Mem

	times int
}

func (f *flushed) Flush(ctx context.Context) error {
	f.times++
	return f.Mem.Flush(ctx)
}

// An election survives kill -9: data of the replica are acknowledged after it. When the replica was heard is written
// every 15 s, and need not be durable.
func TestDurable(t *testing.T) {
	db := &flushed{Mem: kv.NewMem(kv.Table{Name: table, Families: []string{schema.FamilyData}})}
	b := New(kv.NewEngine(db, true), table)
	read := storage.ElectionEntry{}
	for _, step := range []struct {
		election storage.Election
		flushes  int
	}{
		{storage.Election{Elected: "a", Since: 1, Heard: 1}, 1},
		{storage.Election{Elected: "a", Since: 1, Heard: 2}, 1},
		{storage.Election{Elected: "b", Since: 3, Heard: 3}, 2},
	} {
		entry, put, err := b.Replace(t.Context(), "c", read, step.election)
		if err != nil || !put {
			t.Fatal(put, err)
		}
		if read = entry; db.times != step.flushes {
			t.Errorf("%+v: flushed %d times, want %d", step.election, db.times, step.flushes)
		}
	}
}

// A record that nobody understands is replaced by the next election.
func TestDamagedRecord(t *testing.T) {
	db := engines()["local"]
	column := kv.Column{Table: table, Family: schema.FamilyData, Row: own.ElectionKey("c"), Qualifier: []byte(own.ElectionQualifier)}
	if _, err := db.CheckAndPut(t.Context(), column, nil, []byte("?")); err != nil {
		t.Fatal(err)
	}
	b := New(db, table)
	read, err := b.Read(t.Context(), "c")
	if err != nil || read.Elected != "" {
		t.Fatal(read, err)
	}
	if _, put, err := b.Replace(t.Context(), "c", read, storage.Election{Elected: "a"}); err != nil || !put {
		t.Fatal(put, err)
	}
}

func TestErrors(t *testing.T) {
	b := New(kv.NewEngine(kv.NewMem(), true), table)
	if _, err := b.Read(t.Context(), "c"); !errors.Is(err, kv.ErrNoTable) {
		t.Error(err)
	}
	if _, _, err := b.Replace(t.Context(), "c", storage.ElectionEntry{}, storage.Election{}); !errors.Is(err, kv.ErrNoTable) {
		t.Error(err)
	}
	if err := b.Forget(t.Context(), "c"); !errors.Is(err, kv.ErrNoTable) {
		t.Error(err)
	}
}

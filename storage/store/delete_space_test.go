package store_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// A deletion whose rows cannot be changed tells that it has begun and goes on by itself.
func TestDeletionTellsThatItHasBegun(t *testing.T) {
	db := newGated(0)
	p := storetest.StartBuffered(t, db, logtest.New(1))
	refs := p.Resolve(deleteList)
	var b storage.Batch
	b.Add(refs[0], deleteBegin, 1)
	if err := p.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if err := p.FlushAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(db.removed)
	go func() { <-db.reached }()
	_, err := p.Delete(db.through(t.Context()), storage.Deletion{Refs: refs[:1], Start: deleteBegin, End: deleteBegin + 3600_000 - 1})
	if !errors.Is(err, errFails) || !errors.Is(err, storage.ErrUnfinished) || !strings.Contains(err.Error(), "by itself") {
		t.Fatal(err)
	}
	if err := p.FinishDeletions(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.End()
}

// fullStore is an engine whose disk may have no space.
type fullStore struct {
	kv.Local
	full bool
}

func (f *fullStore) DiskSpace() error {
	if f.full {
		return storage.ErrFull
	}
	return nil
}

// A deletion for which there is no disk space does nothing, and tells so.
func TestDeletionWithoutSpace(t *testing.T) {
	for _, whole := range []bool{false, true} {
		db := &fullStore{Local: kv.NewMem(storetest.Tables()...)}
		p := storetest.StartBuffered(t, db, logtest.New(1))
		refs := p.Resolve(deleteList)
		m := storetest.NewModel(len(refs))
		for i, flushed := range []bool{true, false} {
			var b storage.Batch
			at := deleteBegin + int64(i)*1000
			b.Add(refs[0], at, 1)
			m.Put(0, at, storetest.Sample{Bits: math.Float64bits(1)})
			if err := p.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			if flushed {
				if err := p.FlushAll(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		db.full = true
		deletion := storage.Deletion{Refs: refs[:1], Start: deleteBegin, End: deleteBegin + 3600_000 - 1, Whole: whole}
		if _, err := p.Delete(t.Context(), deletion); !errors.Is(err, storage.ErrFull) || !strings.Contains(err.Error(), "nothing was deleted") {
			t.Errorf("whole %v: %v", whole, err)
		}
		if diff := m.Diff(storetest.Read(t, p.Store, refs)); diff != "" {
			t.Error(diff)
		}
		db.full = false
		if _, err := p.Delete(t.Context(), deletion); err != nil {
			t.Error(err)
		}
		p.End()
	}
}

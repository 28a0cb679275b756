package storage_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// memory is an engine that no fate of the process touches.
type memory struct{ *kv.Mem }

func (m memory) Open(*testing.T, storetest.Fate) kv.KV { return m.Mem }

func newMemory(*testing.T) storetest.Engine { return memory{kv.NewMem(storetest.Tables()...)} }

func TestStoreInMemory(t *testing.T) {
	storetest.Run(t, storetest.Config{New: newMemory, Seeds: 40, Exclusive: true})
}

func TestMistakenCells(t *testing.T) {
	storetest.RunMistaken(t, storetest.Config{New: newMemory, Exclusive: true})
	storetest.RunMistaken(t, storetest.Config{New: newMemory, Salted: true})
}

func TestStoreBesideOthers(t *testing.T) {
	storetest.Run(t, storetest.Config{New: newMemory, Seeds: 20, Salted: true})
}

package cache

import (
	"fmt"
	"testing"
)

func TestMap(t *testing.T) {
	m := NewLRU[string, int](10)
	for i := range 35 {
		m.Put(fmt.Sprint(i), i)
		if v, ok := m.Get("0"); !ok || v != 0 {
			t.Fatalf("what is used often was forgotten after %d others", i)
		}
	}
	if m.Len() > 20 {
		t.Errorf("%d kept", m.Len())
	}
	if _, ok := m.Get("1"); ok {
		t.Error("nothing is forgotten")
	}
	m.Forget("0")
	if _, ok := m.Get("0"); ok {
		t.Error("what is to be forgotten stays")
	}
}

// Keys of different weights fill a generation by their weights, and no key weighs twice.
func TestWeighted(t *testing.T) {
	m := NewWeightedLRU[int, string](100, func(key int, _ string) int { return key })
	for range 20 {
		m.Put(60, "a")
	}
	m.Put(40, "b")
	m.Forget(60)
	m.Put(60, "c")
	m.Put(1, "d") // begins a generation
	m.Put(99, "e")
	m.Put(2, "f") // and another
	if got := m.Len(); got != 3 {
		t.Errorf("%d keys, want 3", got)
	}
	if v, ok := m.Get(99); v != "e" || !ok {
		t.Errorf("Get(99) = %q, %v", v, ok)
	}
	if _, ok := m.Get(40); ok {
		t.Error("two generations later a key is known")
	}
}

// The weight of an entry is that of its newest value.
func TestWeightOfValues(t *testing.T) {
	m := NewWeightedLRU(10, func(_ string, v int) int { return v })
	for range 100 {
		m.Put("a", 4)
		m.Put("a", 1)
	}
	m.Put("b", 5)
	if _, ok := m.old["a"]; ok || len(m.young) != 2 || m.used != 6 {
		t.Errorf("young %v, old %v, %d used", m.young, m.old, m.used)
	}
	m.Forget("b")
	if m.used != 1 {
		t.Errorf("%d used after b was forgotten", m.used)
	}
}

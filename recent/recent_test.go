package recent

import (
	"fmt"
	"testing"
)

func TestMap(t *testing.T) {
	m := New[string, int](10)
	for i := range 35 {
		m.Put(fmt.Sprint(i), i)
		if v, ok := m.Get("0"); !ok || v != 0 {
			t.Fatalf("what is used often was forgotten after %d others", i)
		}
	}
	if len(m.young)+len(m.old) > 20 {
		t.Errorf("%d kept", len(m.young)+len(m.old))
	}
	if _, ok := m.Get("1"); ok {
		t.Error("nothing is forgotten")
	}
	m.Forget("0")
	if _, ok := m.Get("0"); ok {
		t.Error("what is to be forgotten stays")
	}
}

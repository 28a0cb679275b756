package intake

import "testing"

func TestGate(t *testing.T) {
	g := NewGate(2, 100)
	if !g.Enter() || !g.Enter() || g.Enter() {
		t.Error("a gate of two requests does not let in two")
	}
	one, two := Share{Gate: g}, Share{Gate: g}
	if !one.Take(60) || !two.Take(40) || two.Take(1) {
		t.Error("a gate of 100 bytes does not give 100")
	}
	if g.Requests() != 2 || g.Bytes() != 100 {
		t.Errorf("%d requests, %d bytes", g.Requests(), g.Bytes())
	}
	one.Release()
	one.Release()
	g.Leave()
	if !g.Enter() || !two.Take(60) || two.Take(1) {
		t.Error("what was given back is not given again")
	}
	two.Release()
	g.Leave()
	g.Leave()
	if g.Requests() != 0 || g.Bytes() != 0 {
		t.Errorf("%d requests, %d bytes at the end", g.Requests(), g.Bytes())
	}
}

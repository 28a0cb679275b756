package netserver

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestGate(t *testing.T) {
	g := NewGate(2, 100)
	if first, second, third := g.Enter(), g.Enter(), g.Enter(); !first || !second || third {
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

// When bytes are short, the body that has been arriving for the longest time gives way to completed
// bodies and to those that began later.
func TestGateGivesWay(t *testing.T) {
	g := NewGate(10, 100)
	var cut []string
	share := func(name string, bytes int) *Share {
		s := &Share{Gate: g}
		s.Receiving(func() { cut = append(cut, name) })
		if !s.Take(bytes) {
			t.Errorf("%s is refused", name)
		}
		return s
	}
	whole := share("whole", 10)
	whole.Received()
	a, b := share("a", 50), share("b", 40)
	c := share("c", 30)
	if a.Take(1) || !a.WasCut() || b.WasCut() || g.Bytes() != 80 {
		t.Errorf("cut %v, %d bytes", cut, g.Bytes())
	}
	if b.Take(30) || b.WasCut() { // it is the oldest itself
		t.Error("b took from a younger one")
	}
	if !whole.Take(60) || !b.WasCut() || c.WasCut() {
		t.Errorf("cut %v", cut)
	}
	if !whole.Take(5) || !c.WasCut() || whole.Take(100) {
		t.Errorf("cut %v, %d bytes", cut, g.Bytes())
	}
	for _, s := range []*Share{whole, a, b, c} {
		s.Received()
		s.Release()
	}
	if g.Bytes() != 0 {
		t.Errorf("%d bytes at the end", g.Bytes())
	}
}

func TestReadBody(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	for _, c := range []struct {
		claimed int64
		limit   int
		want    error
	}{
		{int64(len(text)), len(text), nil},
		{-1, len(text), nil},
		{0, 1 << 20, nil},
		{5, 1 << 20, nil},
		{1 << 40, 1 << 20, nil},
		{-1, len(text) - 1, ErrTooLarge},
		{-1, 10, ErrTooLarge},
	} {
		for _, dst := range [][]byte{nil, make([]byte, 0, 1<<20)} {
			s := &Share{Gate: NewGate(1, 1<<20)}
			got, err := Body{Claimed: c.claimed, Limit: c.limit, Share: s}.ReadBody(dst, iotest.HalfReader(strings.NewReader(text)))
			if !errors.Is(err, c.want) || err == nil && string(got) != text {
				t.Errorf("%+v: %d bytes, %v", c, len(got), err)
			}
			if held := s.Gate.Bytes(); held < int64(len(got)) || held > int64(max(2*len(text), firstBody)) {
				t.Errorf("%+v: %d bytes are taken for %d", c, held, len(got))
			}
		}
	}
	s := &Share{Gate: NewGate(1, 50_000)}
	if _, err := (Body{Claimed: -1, Limit: 1 << 20, Share: s}).ReadBody(nil, strings.NewReader(text)); !errors.Is(err, ErrBusy) {
		t.Errorf("more than the gate: %v", err)
	}
	broken := errors.New("broken")
	if _, err := (Body{Limit: 10, Share: &Share{Gate: NewGate(1, 50_000)}}).ReadBody(nil, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
}

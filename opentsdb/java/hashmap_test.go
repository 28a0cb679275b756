package java

import (
	"strings"
	"testing"
)

// TestInMapOrder: the orders are those of a HashMap of Java 17 that was made for so many.
func TestInMapOrder(t *testing.T) {
	for _, c := range []struct {
		capacity    int
		names, want string
	}{
		{16, "smq", "smq"},
		{2, "Cf hkBx", "hkBx Cf"},
		{3, "mC oaot lyB3", "oaot lyB3 mC"},
		{5, "xd x f édy bk", "x bk xd édy f"},
		{6, "xn mx cm0 dA x z", "x z mx dA xn cm0"},
		{16, "piiy xfo 3x an éo sB3z xk h pxc lBdm ppfd uz0 ln zu B rC i1 g0ut e0mx yd", "xfo ln B sB3z 3x éo g0ut h i1 ppfd uz0 yd an lBdm rC xk e0mx pxc zu piiy"},
		{27, "eB v B C 0 ibea nx xjed gpyo A1kh oqo kkA x c2o w Bbbh lnsé pjmb e qB 2h y y0d ro t xqzs hzt", "B C ibea nx xqzs oqo gpyo kkA c2o hzt e xjed lnsé y0d 0 qB A1kh t v 2h w x Bbbh y pjmb eB ro"},
		{26, "zhot uxux Cy x0d mj0 v3qC Bzh 0a kA y oé Azd ux vzré xfzc l0 i1 nnA vfba Cm u1gh p dgo gtib jedA Ayd", "nnA l0 u1gh Cm vzré dgo Ayd Cy vfba v3qC oé ux i1 jedA zhot Azd x0d xfzc p uxux Bzh 0a mj0 kA gtib y"},
	} {
		if got := strings.Join(InMapOrder(strings.Fields(c.names), c.capacity), " "); got != c.want {
			t.Errorf("a map for %d of %s\n lists %s,\n want  %s", c.capacity, c.names, got, c.want)
		}
	}
	if len(InMapOrder(nil, 0)) != 0 {
		t.Error("an empty map has names")
	}
}

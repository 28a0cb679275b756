package schema

import "testing"

func TestSameRows(t *testing.T) {
	salted := Layout{3, 3, 3, 1, 20}
	for _, c := range []struct {
		a, b Layout
		same bool
	}{
		{DefaultLayout(), Layout{3, 3, 3, 0, 4}, true},
		{DefaultLayout(), Layout{4, 3, 3, 0, 20}, false},
		{DefaultLayout(), salted, false},
		{salted, Layout{3, 3, 3, 1, 4}, false},
		{salted, salted, true},
	} {
		if got := c.a.SameRows(c.b); got != c.same {
			t.Errorf("%+v SameRows %+v = %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

package rules

import "testing"

// What is read as a query in another language is written in the same way.
func FuzzForeign(f *testing.F) {
	for _, text := range []string{"graphite: a.b", "graphite[1h]: a", "opentsdb: sum:a{b=c}", "graphite[0s]: a", "up", "a: b", "graphite:a", "graphite[]: a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, ok := parseForeign(text, []string{"graphite", "opentsdb"})
		if ok && q.String() != text {
			t.Errorf("%q is read as %+v", text, q)
		}
		if again, ok := parseForeign(foreign{"graphite", text, 0}.String(), []string{"graphite"}); !ok || again.text != text {
			t.Errorf("the target %q is read as %+v, %v", text, again, ok)
		}
	})
}

package translate

import (
	"strings"
	"testing"
)

func showMetric(tr *Translator, name string) string {
	stored := tr.MetricName(name)
	out := stored + ":"
	for element := range strings.SplitSeq(stored, ".") {
		out += " " + Shown(element)
	}
	if back := tr.FromMetric(stored); back != name {
		out += " comes back as " + back
	}
	return out
}

// A stored metric cut at its dots has the elements of the name, each of which is shown as it was
// written; so are a name of one element and a value, where they can be distinguished.
func FuzzShown(f *testing.F) {
	for _, a := range pieces {
		for _, b := range []string{"", "a", "x y", "_-", "a:b", "b_3Ac"} {
			f.Add(a + "." + b)
		}
		f.Add(a)
	}
	literal := &Translator{limits: storedLimits}
	f.Fuzz(func(t *testing.T, text string) {
		Shown(text)
		if text == "" {
			return
		}
		if stored := escapeLiteral(text); Shown(stored) != text && !strings.Contains(text, "._-") {
			t.Errorf("the value %q is stored as %q, which shows as %q", text, stored, Shown(stored))
		}
		if !strings.Contains(text, ".") {
			return
		}
		stored := literal.MetricName(text)
		if stored == longMetric {
			return
		}
		if shown := Shown(stored); shown != text && unescapeLiteral(stored) == stored {
			t.Errorf("the metric %q is stored as %q, which shows as %q", text, stored, shown)
		}
		elements, parts := strings.Split(text, "."), strings.Split(stored, ".")
		if len(elements) != len(parts) {
			t.Fatalf("%q is stored as %q", text, stored)
		}
		for i, part := range parts {
			if Shown(part) != elements[i] {
				t.Errorf("%q is stored as %q, whose %q shows as %q", text, stored, part, Shown(part))
			}
		}
	})
}

package whisper

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name, file string
		hashed     bool
	}{
		{"a.b.c", "a/b/c.wsp", false},
		{"one", "one.wsp", true},
		// The paths are those of carbon.util.TaggedSeries.encode.
		{"some.metric;tag1=value2;tag2=value.2", "_tagged/eff/aae/some_DOT_metric;tag1=value2;tag2=value_DOT_2.wsp", false},
		{"some.metric;tag1=value2;tag2=value.2", "_tagged/eff/aae/effaae5b55950b150a7493d2f5430772ca2460bf7cccb4d9e523643df54c010f.wsp", true},
	} {
		file, ok := PathOf(c.name, c.hashed)
		if !ok || file != c.file {
			t.Errorf("%s: %s, %v", c.name, file, ok)
		}
		name, hash, named := NameOf(file)
		if named && name != c.name || !named && hash != HashOf(c.name) || named == (c.hashed && file[0] == '_') {
			t.Errorf("%s: %q, %x, %v", file, name, hash, named)
		}
	}
	for _, bad := range []string{"", "a..b", ".a", "a.", "a.\x00"} {
		if file, ok := PathOf(bad, false); ok {
			t.Errorf("%q: %s", bad, file)
		}
	}
}

package translate

import (
	"fmt"
	"strings"
	"testing"
)

// historical is the escape of Prometheus' example adapter: hex digits without padding.
func historical(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_':
			b.WriteString("__")
		case c == ':':
			b.WriteString("_.")
		case c >= '-' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%X", c)
		}
	}
	return b.String()
}

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ text, e, l string }{
		{"foo-bar-42", "foo-bar-42", "foo-bar-42"},
		{"foo_bar_42", "foo__bar__42", "foo_bar_42"},
		{"http://example.org:8080", "http_.//example.org_.8080", "_-http_.//example.org_.8080"},
		{"Björn's email: bjoern@soundcloud.com", "Bj_C3_B6rn_27s_20email_._20bjoern_40soundcloud.com", "_-Bj_C3_B6rn_27s_20email_._20bjoern_40soundcloud.com"},
		{"日", "_E6_97_A5", "_-_E6_97_A5"},
		{"localhost:9090", "localhost_.9090", "_-localhost_.9090"},
		{"web_01", "web__01", "web_01"},
		{"db_21", "db__21", "db_21"},
		{"a\nb", "a_0Ab", "_-a_0Ab"}, // the adapter: a_Ab
		{"\x00", "_00", "_-_00"},
		{"\xff", "_FF", "_-_FF"},
		{"_-", "__-", "_-__-"},
		{"_-x", "__-x", "_-__-x"},
		{"-_", "-__", "-_"},
		{"_", "__", "_"},
	} {
		if got := escape(tt.text); got != tt.e {
			t.Errorf("escape(%q) = %q, want %q", tt.text, got, tt.e)
		}
		if got, ok := unescape(tt.e); got != tt.text || !ok {
			t.Errorf("unescape(%q) = %q, %t, want %q", tt.e, got, ok, tt.text)
		}
		if got := escapeLiteral(tt.text); got != tt.l {
			t.Errorf("escapeLiteral(%q) = %q, want %q", tt.text, got, tt.l)
		}
		if got := unescapeLiteral(tt.l); got != tt.text {
			t.Errorf("unescapeLiteral(%q) = %q, want %q", tt.l, got, tt.text)
		}
	}
}

func TestUnescapeStrict(t *testing.T) {
	for _, s := range []string{
		"_", "a_", "_-", "_/", "_0", "_A", "a_Ab", "_0a", "_c3", "_G0", "foo_bar", "a b", "é", ":", "_41", "_2D", "_5F", "_3A", "_+1",
	} {
		if got, ok := unescape(s); ok {
			t.Errorf("unescape(%q) = %q, want none", s, got)
		}
	}
	for _, s := range []string{"", "_-", "_-foo", "_-foo__bar", "_-_41", "_-_-", "_-a b", "_-é", "a:b", "x_-y"} {
		if got := unescapeLiteral(s); got != s {
			t.Errorf("unescapeLiteral(%q) = %q, want itself", s, got)
		}
	}
}

// For all texts of two bytes, E is the example adapter's output wherever that can be read back, and
// no two texts have the same form.
func TestEscapePairs(t *testing.T) {
	seen := make(map[string]string, 1<<17)
	for i := range 1 << 16 {
		text := string([]byte{byte(i >> 8), byte(i)})
		e := escape(text)
		if low := text[0] < 0x10 || text[1] < 0x10; !low && e != historical(text) {
			t.Fatalf("escape(%q) = %q, the adapter's is %q", text, e, historical(text))
		}
		if other, ok := seen[e]; ok {
			t.Fatalf("escape gives %q for both %q and %q", e, text, other)
		}
		seen[e] = text
		if back, ok := unescape(e); !ok || back != text {
			t.Fatalf("unescape(%q) = %q, %t, want %q", e, back, ok, text)
		}
		if back := unescapeLiteral(escapeLiteral(text)); back != text {
			t.Fatalf("unescapeLiteral(%q) = %q, want %q", escapeLiteral(text), back, text)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, piece := range pieces {
		f.Add(piece)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if back, ok := unescape(escape(s)); !ok || back != s {
			t.Errorf("unescape(%q) = %q, %t, want %q", escape(s), back, ok, s)
		}
		if s != "" && unescapeLiteral(escapeLiteral(s)) != s {
			t.Errorf("unescapeLiteral(%q) = %q, want %q", escapeLiteral(s), unescapeLiteral(escapeLiteral(s)), s)
		}
		if text, ok := unescape(s); ok && escape(text) != s {
			t.Errorf("unescape(%q) = %q, whose escape is %q", s, text, escape(text))
		}
		if text := unescapeLiteral(s); text != s && escapeLiteral(text) != s {
			t.Errorf("unescapeLiteral(%q) = %q, which is stored as %q", s, text, escapeLiteral(text))
		}
		if s != "" && (strings.HasPrefix(escape(s), literalPrefix) || !isLegal(escape(s))) {
			t.Errorf("escape(%q) = %q", s, escape(s))
		}
		if name, own := labelName(s); own && tagKey(name) != s {
			t.Errorf("labelName(%q) = %q, whose key is %q", s, name, tagKey(name))
		}
		if s != nameLabel && s != "" {
			if name, own := labelName(tagKey(s)); !own || name != s || reserved(tagKey(s)) {
				t.Errorf("labelName(%q) = %q, %t, want %q", tagKey(s), name, own, s)
			}
		}
	})
}

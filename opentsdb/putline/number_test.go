package putline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// The expected values are Java 17's output of Double.parseDouble.
func TestParseDouble(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"1.2.3", "multiple points"},
		{"1e", `For input string: "1e"`},
		{"1.5f", "1.5"},
		{"1.0d", "1"},
		{" 1.5 ", "1.5"},
		{"true", `For input string: "true"`},
		{"1..2", "multiple points"},
		{"1.e5", "100000"},
		{"+.5e-3", "0.0005"},
		{".", `For input string: "."`},
		{"--1.0", `For input string: "--1.0"`},
		{"0x1.8p1", "3"},
		{"0x1.8p1d", "3"},
		{"0x1.8", `For input string: "0x1.8"`},
		{"1e400", "+Inf"},
		{"-1e400", "-Inf"},
		{"1e5x", `For input string: "1e5x"`},
		{"1.5fd", `For input string: "1.5fd"`},
		{"e", `For input string: "e"`},
		{"", "empty String"},
		{"infe", `For input string: "infe"`},
	} {
		v, err := parseDouble(c.text)
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("parseDouble(%q) = %s, want %s", c.text, got, c.want)
		}
	}
}

// FuzzParseShort checks that the fast parser of numbers agrees with the general one.
func FuzzParseShort(f *testing.F) {
	for _, seed := range []string{"0", "-0", "-0.0", "1.5", "999999999999999.9", "123456789012345678", "0.000000000000001", "-", ".5", "5.", "1.2.3", "00.10", "0e0", "+7", "-1.5E+3"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		short, ok := ParseShort(text)
		if !ok {
			return
		}
		var want Number
		if strings.ContainsAny(string(text), ".eE") {
			v, err := strconv.ParseFloat(string(text), 64)
			if err != nil {
				t.Fatalf("parseShort(%q) read what is no number", text)
			}
			want = FloatNumber(v)
		} else {
			v, err := ParseLong(string(text))
			if err != nil {
				t.Fatalf("parseShort(%q): %v", text, err)
			}
			want = integerNumber(v)
		}
		if short != want {
			t.Errorf("parseShort(%q) = %v, want %v", text, short, want)
		}
	})
}

// The expected text is Java 17's output for a HashMap of 30 keys: its table has doubled twice.
func TestTagsText(t *testing.T) {
	var tags []storage.Tag
	for i := range 30 {
		tags = append(tags, storage.Tag{Key: "key" + strconv.Itoa(7*i), Value: strconv.Itoa(i)})
	}
	const want = `{key0=0, key119=17, key84=12, key7=1, key154=22, key21=3, key175=25, key42=6, key112=16, key63=9, key133=19, key14=2, key35=5, key196=28, key56=8, key91=13, key147=21, key168=24, key105=15, key70=10, key126=18, key203=29, key77=11, key98=14, key189=27, key161=23, key182=26, key140=20, key28=4, key49=7}`
	if got := TagsText(tags); got != want {
		t.Errorf("tagsText = %s\nwant       %s", got, want)
	}
}

// The letters of Latin-1 beyond ASCII, as Java's Character.isLetter has them.
func TestAllowed(t *testing.T) {
	for c := range rune(0x250) {
		want := c < 0x80 && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_./", c)) ||
			c == 0xaa || c == 0xb5 || c == 0xba || c >= 0xc0 && c <= 0xff && c != 0xd7 && c != 0xf7
		if (httpapi.CheckName("metric", string(c), "") == nil) != want {
			t.Errorf("CheckName of %U allows it: %v", c, !want)
		}
	}
}

func TestFinite(t *testing.T) {
	for _, v := range []float64{0, -1, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		if !FloatNumber(v).Finite() {
			t.Errorf("%v is not finite", v)
		}
	}
	for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		if FloatNumber(v).Finite() {
			t.Errorf("%v is finite", v)
		}
	}
	if !integerNumber(0x7ff << 52).Finite() {
		t.Error("an integer with the bits of an infinity is not finite")
	}
}

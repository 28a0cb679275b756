package carbonapi

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// The messages were written by the generated code of github.com/go-graphite/protocol v1.0.0.
func TestMessages(t *testing.T) {
	unhex := func(text string) []byte {
		t.Helper()
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	fetches, err := ParseFetches(unhex("0a1a0a03612e2a1080ce88870518acd088870520012a03612e2a38640a0e0a016210ffffffffffffffffff01"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Fetch{{Name: "a.*", Expression: "a.*", Start: 1356998400, Stop: 1356998700}, {Name: "b", Start: -1}}
	if d := cmp.Diff(want, fetches); d != "" {
		t.Error(d)
	}
	globs, err := ParseGlobs(unhex("0a03612e2a0a02c3a91007"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.*", "é"}, globs); d != "" {
		t.Error(d)
	}
	series := Series{
		Name: "a.b", Expression: "a.*", Consolidation: "average", Start: 1356998400, Stop: 1356998580, Step: 60, XFilesFactor: 0.5,
		Values: []float64{1, math.NaN(), -2.5}, AskedStart: 1356998390, AskedStop: 1356998590,
	}
	glob := Glob{Pattern: "a.*", Matches: []Match{{"a.b", true}, {"a.c", false}}}
	for name, of := range map[string]struct {
		got  []byte
		want string
	}{
		"series":       {series.Append(nil), "0a4c0a03612e621203612e2a1a07617665726167652080ce88870528b4cf888705303c3d0000003f4a18000000000000f03f010000000000f87f00000000000004c058f6cd88870560becf888705"},
		"globs":        {glob.Append(nil), "0a150a03612e2a12070a03612e62100112050a03612e63"},
		"capabilities": {AppendCapabilities(nil, "tsdbridge"), "0a0f636172626f6e6170695f76335f70621209747364627269646765"},
	} {
		if got := hex.EncodeToString(of.got); got != of.want {
			t.Errorf("%s: %s, want %s", name, got, of.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{10, 3, 10, 1, 'a'})
	f.Fuzz(func(t *testing.T, message []byte) {
		fetches, err := ParseFetches(message)
		if err == nil {
			var b []byte
			for _, one := range fetches {
				b = appendMessage(b, 1, func(b []byte) []byte {
					b = appendInteger(appendInteger(appendText(b, 1, one.Name), 2, one.Start), 3, one.Stop)
					return appendText(b, 5, one.Expression)
				})
			}
			again, err := ParseFetches(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(fetches, again); d != "" {
				t.Fatal(d)
			}
		}
		if patterns, err := ParseGlobs(message); err == nil {
			var b []byte
			for _, p := range patterns {
				b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), p)
			}
			again, err := ParseGlobs(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(patterns, again); d != "" {
				t.Fatal(d)
			}
		}
	})
}

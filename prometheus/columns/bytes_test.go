package columns

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/storage"
)

func someBatch() *Batch {
	b := &Batch{Metadata: map[string]metadata.Metadata{"m": {Type: "counter", Unit: "bytes", Help: "Some."}}}
	one := b.Series(labels.FromStrings("__name__", "m", "a", "ü"))
	two := b.Series(labels.FromStrings("__name__", "n"))
	b.Points.Add(one, 5, 1.5)
	b.Points.Add(one, 3, math.Copysign(0, -1))
	b.Points.AddObject(two, 9, storage.KindHistogram, []byte{1, 2})
	b.Points.Add(two, 1<<41, math.Float64frombits(0x7ff8000000000123))
	b.Points.AddObject(one, -1, storage.KindStartTime, []byte{})
	b.Points.Add(one, 7, math.Inf(-1))
	return b
}

// TestBytes: what is parsed is what was written, in all bits.
func TestBytes(t *testing.T) {
	for name, b := range map[string]*Batch{"empty": {}, "some": someBatch()} {
		text := b.AppendTo(nil)
		got, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := got.AppendTo(nil); !bytes.Equal(again, text) {
			t.Errorf("%s: %x is written as %x", name, text, again)
		}
		if !slices.EqualFunc(got.Labels, b.Labels, labels.Equal) || got.Samples() != b.Samples() || len(got.Points.Objects) != len(b.Points.Objects) {
			t.Errorf("%s: %v, want %v", name, got, b)
		}
		for i := range text { // a batch that was cut off is never taken
			if _, err := Parse(text[:i]); !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("%s, the first %d bytes: %v", name, i, err)
			}
		}
	}
}

// FuzzParse: no bytes make it panic, and what it takes it writes so that it is read as the same.
func FuzzParse(f *testing.F) {
	f.Add(someBatch().AppendTo(nil))
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Parse(text)
		if err != nil {
			if !errors.Is(err, storage.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		again, err := Parse(b.AppendTo(nil))
		if err != nil || again.Samples() != b.Samples() || len(again.Labels) != len(b.Labels) {
			t.Fatalf("%v, %v, want %v", again, err, b)
		}
	})
}

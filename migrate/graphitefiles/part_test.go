package graphitefiles

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// equal compares two parts, values by their bits.
func (p *Part) equal(other *Part) bool {
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	return p.Name == other.Name && p.Kept == other.Kept && slices.EqualFunc(p.Runs, other.Runs, func(a, b Run) bool {
		return a.Step == b.Step && slices.Equal(a.Times, b.Times) && slices.EqualFunc(a.Values, b.Values, same)
	})
}

func FuzzPart(f *testing.F) {
	p := Part{Name: "a.b;x=ü", Kept: "retentions=10:6", Runs: []Run{{Times: []int64{10, 20}, Values: []float64{1, math.Inf(1)}}, {Step: 60, Times: []int64{60}, Values: []float64{-0.5}}, {Step: 3600}}}
	good, err := p.AppendTo(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte("{\"runs\":[{\"count\":-1}]}\n"))
	f.Add([]byte(`{"name":"` + strings.Repeat("<", 20_000) + "\"}\n")) // which Go writes with six times the bytes
	f.Add([]byte("{\"runs\":[{\"count\":1000000000000}]}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePart(b)
		if err != nil {
			if !errors.Is(err, storage.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		again, err := p.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ParsePart(again)
		if err != nil {
			t.Fatal(err)
		}
		// cmp.Diff takes ten seconds for a part of a megabyte, after which a fuzzer takes a test for hung.
		if !p.equal(second) {
			t.Fatalf("%+v, want %+v", second, p)
		}
	})
}

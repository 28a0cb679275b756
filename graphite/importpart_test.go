package graphite

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
)

func FuzzImportPart(f *testing.F) {
	p := ImportPart{Name: "a.b;x=ü", Kept: "retentions=10:6", Runs: []ImportRun{{Times: []int64{10, 20}, Values: []float64{1, math.Inf(1)}}, {Step: 60, Times: []int64{60}, Values: []float64{-0.5}}, {Step: 3600}}}
	good, err := p.AppendTo(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte("{\"runs\":[{\"count\":-1}]}\n"))
	f.Add([]byte("{\"runs\":[{\"count\":1000000000000}]}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseImportPart(b)
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
		second, err := ParseImportPart(again)
		if err != nil {
			t.Fatal(err)
		}
		same := cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
		if diff := cmp.Diff(p, second, same); diff != "" {
			t.Fatal(diff)
		}
	})
}

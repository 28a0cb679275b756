package tablecopy

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// wholeBlock has something of everything.
func wholeBlock() *Block {
	return &Block{
		Trees: []Tree{{schema.Tree{Name: "t", Enabled: true}, []schema.TreeRule{{Type: "TAGK", Field: "host", Level: 1}}}},
		Names: []Name{{storage.TagValueName, "\u00e4 \"", []byte{0, 255, '"'}}, {Kind: storage.MetricName, Name: "m"}},
		Notes: [][]byte{[]byte(`{"startTime":1}`)},
		Lost:  []Loss{{"a", "b"}},
		Series: []Series{{
			Name: storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "k", Value: "v"}}}, Document: []byte("{}"),
			Times: []int64{5, 7, storage.MaxTime}, Values: []float64{1, math.Inf(-1), math.Float64frombits(0x7ff0000000000002)},
			Integers: []storage.Integer{{Time: 5, Value: math.MinInt64}},
			Objects:  []storage.Object{{Time: 6, Kind: storage.KindCoded, Data: []byte{0, 1}}},
			Notes:    [][]byte{[]byte("x")},
			Slots:    []storage.ArchiveSlots{{Step: 60, Times: []int64{60, 120}, Values: []float64{1, 2}}},
			Rolled:   []Rolled{{"1h", "sum", true, 3600_000, schema.IntPoint(0, -3)}},
		}, {Name: storage.Series{Metric: "n"}}},
	}
}

func sameBlocks(a, b *Block) string {
	bits := cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
	return cmp.Diff(a, b, bits, cmpopts.IgnoreUnexported(storage.Object{}), cmpopts.EquateEmpty())
}

// A block comes back from its bytes, and no part of them is a block.
func TestBlockBytes(t *testing.T) {
	whole, err := wholeBlock().AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseBlock(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := sameBlocks(wholeBlock(), b); diff != "" {
		t.Error(diff)
	}
	for n := range whole {
		if _, err := ParseBlock(whole[:n]); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("ParseBlock of the first %d bytes: %v", n, err)
		}
	}
	if _, err := ParseBlock(append(whole, 0)); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("ParseBlock with a byte too many: %v", err)
	}
}

// What parses is written as what parses to the same.
func FuzzParseBlock(f *testing.F) {
	whole, err := wholeBlock().AppendTo(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseBlock(data)
		if err != nil {
			return
		}
		again, err := b.AppendTo(nil)
		if err != nil {
			return // a name that is empty
		}
		next, err := ParseBlock(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameBlocks(b, next); diff != "" {
			t.Error(diff)
		}
	})
}

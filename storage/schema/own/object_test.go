package own

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// TestObjects runs the data file about object cells:
//
//	decode  qualifier = value -> the objects; if encoding them again gives other bytes, those
//	encode  offset, kind and data in hex a line, in any order -> their one cell
func TestObjects(t *testing.T) {
	datadriven.RunTest(t, "testdata/objects", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "decode":
			return describeObjects(parseCell(t, d.Input))
		case "encode":
			var objects []Object
			for _, line := range inputLines(d) {
				objects = append(objects, parseObject(t, line))
			}
			q, v := AppendObjectCell(nil, nil, objects)
			return fmt.Sprintf("%X=%X", q, v)
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func describeObjects(qualifier, value []byte) string {
	objects, err := DecodeObjects(nil, qualifier, value)
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	var out strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&out, "%dms kind %d %s", o.Offset, o.Kind, hexOrNone(o.Data))
		if v, err := o.Float(); err == nil {
			fmt.Fprintf(&out, " %v", v)
		}
		out.WriteByte('\n')
	}
	if q, v := AppendObjectCell(nil, nil, objects); !bytes.Equal(q, qualifier) || !bytes.Equal(v, value) {
		fmt.Fprintf(&out, "we would write %X=%X\n", q, v)
	}
	return out.String()
}

// parseObject reads "500ms 3 0A0B" or "0s 1 -Inf".
func parseObject(t *testing.T, line string) Object {
	t.Helper()
	words := strings.Fields(line)
	kind, err := strconv.ParseUint(words[1], 10, 8)
	if err != nil {
		t.Fatalf("kind %q: %v", words[1], err)
	}
	offset := parseOffset(t, words[0])
	if v, err := strconv.ParseFloat(words[2], 64); err == nil && storage.Kind(kind) == storage.KindFloat {
		return FloatObject(offset, v)
	}
	return Object{Offset: offset, Kind: storage.Kind(kind), Data: parseHex(t, words[2])}
}

func TestFloatObjectsKeepEveryBit(t *testing.T) {
	for _, bits := range []uint64{
		0x7FF0000000000002,                     // Prometheus' stale marker
		0x7FF8000000000001,                     // and its ordinary NaN
		0x7FF0000000000000, 0xFFF0000000000000, // infinities
		0xFFFFFFFFFFFFFFFF, 0x7FF0000000000001, 0x8000000000000000, 0,
	} {
		v, err := FloatObject(7, math.Float64frombits(bits)).Float()
		if got := math.Float64bits(v); err != nil || got != bits {
			t.Errorf("FloatObject(%#x).Float() = %#x, %v", bits, got, err)
		}
	}
	for _, o := range []Object{{Kind: storage.KindFloat, Data: make([]byte, 4)}, {Kind: storage.KindHistogram, Data: make([]byte, 8)}} {
		if v, err := o.Float(); err == nil {
			t.Errorf("%v.Float() = %v, want an error", o, v)
		}
	}
}

func TestSampleKinds(t *testing.T) {
	for k, want := range map[storage.Kind]bool{
		storage.KindFloat: true, storage.KindHistogram: true, storage.KindExemplar: false, storage.KindStartTime: false, 0: false, 5: false,
	} {
		if got := k.IsSample(); got != want {
			t.Errorf("ObjectKind(%d).IsSample() = %v, want %v", k, got, want)
		}
	}
}

func TestRandomObjectsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 500 {
		objects := make([]Object, 1+rng.IntN(40))
		for i := range objects {
			objects[i] = Object{rng.Uint32N(schema.RowMillis) / 500 * 500, storage.Kind(rng.IntN(256)), randomBytes(rng, rng.IntN(300))}
		}
		want := slices.Clone(objects)
		q, v := AppendObjectCell(nil, nil, objects)
		if schema.ClassifyCell(q) != schema.CellObject {
			t.Fatalf("ClassifyCell(%X) = %v", q, schema.ClassifyCell(q))
		}
		got, err := DecodeObjects([]Object{{Kind: 9}}, q, v)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, compareObjects)
		if !equalObjects(want, got[1:]) || got[0].Kind != 9 {
			t.Fatalf("DecodeObjects(%X, %X) = %v, want %v", q, v, got, want)
		}
	}
}

func equalObjects(a, b []Object) bool {
	return slices.EqualFunc(a, b, func(a, b Object) bool { return compareObjects(a, b) == 0 })
}

func FuzzDecodeObjects(f *testing.F) {
	for _, cell := range [][2][]byte{
		{{0x82, 0, 0}, {1, 0, 1, 8, 0x7F, 0xF0, 0, 0, 0, 0, 0, 2}},
		{{0x82, 0, 0, 1, 0xF4}, {1, 0xF4, 3, 2, 1, 9, 0, 3, 0, 0xE8, 7, 4, 1, 1}},
		{{0x82, 0, 0}, {1}},
		{{0x82, 0, 0}, {2, 0, 1, 0}},
	} {
		f.Add(cell[0], cell[1])
	}
	f.Fuzz(func(t *testing.T, qualifier, value []byte) {
		before := []Object{{Offset: 1}}
		objects, err := DecodeObjects(before, qualifier, value)
		if err != nil {
			if len(objects) != 1 {
				t.Fatalf("after an error: %v", objects)
			}
			return
		}
		objects = objects[1:]
		if len(objects) == 0 {
			return
		}
		q, v := AppendObjectCell(nil, nil, objects)
		again, err := DecodeObjects(nil, q, v)
		if err != nil || !equalObjects(objects, again) {
			t.Errorf("%X=%X holds %v, again %X=%X: %v, %v", qualifier, value, objects, q, v, again, err)
		}
	})
}

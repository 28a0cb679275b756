package write

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// notes keeps which series a record numbers.
type notes struct {
	numbers int // there are, each that of a series
	fresh   []numbered
}

func (n *notes) note(number uint32, tsuid []byte) error {
	n.fresh = append(n.fresh, numbered{number: number, tsuid: bytes.Clone(tsuid)})
	return nil
}

func (n *notes) ref(number uint32) storage.Ref {
	if int(number) >= n.numbers {
		return 0
	}
	return storage.Ref(number) + 1
}

// FuzzRecord: bytes that are not a record are an error and nothing worse, and a record is written
// again as it was.
func FuzzRecord(f *testing.F) {
	numbers := make([]number, 300)
	for i := range numbers {
		numbers[i] = number(i) + 1
		if i%3 == 0 {
			numbers[i] |= unsaved
		}
	}
	fresh := []numbered{{number: 3, tsuid: []byte("three")}, {number: 4, tsuid: nil}, {number: 1, tsuid: []byte("1")}}
	var b storage.Batch
	b.Add(1, 1356998400000, 1.5)
	b.Add(300, 1356998400000, math.NaN())
	b.AddObject(2, 5, storage.KindHistogram, []byte("histogram"))
	b.Add(2, storage.MaxTime, math.Inf(-1))
	f.Add(appendRecord(nil, &b, nil, numbers, 0))
	b.AddForm(7, 0, math.Float64frombits(1<<64-1), storage.FormInteger)
	b.AddObject(2, 5, storage.KindExemplar, nil)
	f.Add(appendRecord(nil, &b, nil, numbers, 1700000000123))
	b.AddForm(7, 1, 1.5, storage.FormDouble)
	f.Add(appendRecord(nil, &b, nil, numbers, 1700000000123))
	b.AddForm(7, 2000, 1.5, storage.FormDouble|storage.FormMillis)
	b.AddForm(7, 3000, 1.5, storage.FormMillis)
	b.AddForm(7, 4000, 0, storage.FormInteger|storage.FormMillis)
	f.Add(appendRecord(nil, &b, fresh, numbers, 1700000000123))
	f.Add(appendRecord(nil, &b, fresh[:1], numbers, 0))
	f.Add([]byte{recordVersion, 0, 0})
	f.Add([]byte{recordVersionIntegers, 0xff, 0xff, 0xff, 0xff, 0x0f, 1})
	f.Fuzz(func(t *testing.T, record []byte) {
		var b storage.Batch
		first := notes{numbers: len(numbers)}
		acknowledged, err := parseRecord(&b, record, &first)
		if err != nil {
			return
		}
		again := appendRecord(nil, &b, first.fresh, numbers, acknowledged)
		var c storage.Batch
		second := notes{numbers: len(numbers)}
		when, err := parseRecord(&c, again, &second)
		if err != nil || when != acknowledged || !reflect.DeepEqual(first, second) {
			t.Fatalf("%x is written again as %x, which is acknowledged at %d, want %d: %v", record, again, when, acknowledged, err)
		}
		if once := appendRecord(nil, &c, second.fresh, numbers, when); !bytes.Equal(once, again) {
			t.Fatalf("%x is written again as %x and then as %x", record, again, once)
		}
	})
}

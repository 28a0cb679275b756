package row

import (
	"bytes"
	"cmp"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Number is the kind of a finite number, which stands in a cell of points. No object has it.
const Number storage.Kind = 0

// KindOf returns the kind in which a row keeps a float: NaNs and infinities are objects.
func KindOf(v float64) storage.Kind {
	if math.Abs(v) <= math.MaxFloat64 {
		return Number
	}
	return storage.KindFloat
}

// Replaces reports whether a datum takes the place of one that was written before it at the same
// instant: newest write wins. An instant holds one sample, which is a number or an object, and one
// object of each other kind, but any number of exemplars. So a start time stays under a newer
// sample, until a newer start time is written. It is the same for either order of the two.
func Replaces(newer, older storage.Kind) bool {
	if isSample(newer) {
		return isSample(older)
	}
	return newer == older && newer != storage.KindExemplar
}

func isSample(k storage.Kind) bool { return k == Number || k.IsSample() }

// sameObject reports whether two objects are one: an instant has one of each kind, and each
// exemplar once.
func sameObject(a, b own.Object) bool {
	return a.Offset == b.Offset && a.Kind == b.Kind && (a.Kind != storage.KindExemplar || bytes.Equal(a.Data, b.Data))
}

// compareNewest orders objects so that those which are one are neighbours, the newest first.
func compareNewest(a, b own.Object, aWritten, bWritten int64) int {
	byKind := cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Kind, b.Kind))
	if a.Kind == storage.KindExemplar {
		return cmp.Or(byKind, bytes.Compare(a.Data, b.Data))
	}
	return cmp.Or(byKind, cmp.Compare(bWritten, aWritten))
}

// CompareObjects orders objects by time, kind and content.
func CompareObjects(a, b own.Object) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.Data, b.Data))
}

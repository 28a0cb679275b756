package columns

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// TestSize: long labels and objects make a batch large, which is stored then.
func TestSize(t *testing.T) {
	b := &Batch{}
	b.Points.Add(b.Series(labels.FromStrings("a", "b")), 1, 1)
	if n := b.Size(); n > 3 {
		t.Errorf("a sample counts as %d", n)
	}
	long := strings.Repeat("x", 1<<20)
	b.Series(labels.FromStrings("a", long))
	if n := b.Size(); n < 1<<16 {
		t.Errorf("a label of 1 MiB counts as %d samples", n)
	}
	b.Points.AddObject(0, 1, storage.KindExemplar, []byte(long))
	if n := b.Size(); n < 2<<16 || n != b.Size() {
		t.Errorf("with an object of 1 MiB the batch counts as %d samples", n)
	}
	if b.Reset(); b.Size() != 0 {
		t.Errorf("an empty batch counts as %d samples", b.Size())
	}
}

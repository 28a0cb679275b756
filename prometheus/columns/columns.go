// Package columns holds labelled samples on their way from one store to another, in columns, and
// writes them as bytes and reads them back. It stores nothing and knows no file.
package columns

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Batch is samples of several series. The zero value is empty.
type Batch struct {
	// Labels are those of the series.
	Labels []labels.Labels
	// Points are their samples. A Ref in it is a number in Labels.
	Points storage.Batch
	// Metadata are those of metric families, by their names.
	Metadata map[string]metadata.Metadata

	sized sized
}

// sized is how many labels and objects Size has counted, and their bytes.
type sized struct{ labels, objects, bytes int }

// Series adds a series and returns its number, for what is added to Points.
func (b *Batch) Series(ls labels.Labels) storage.Ref {
	b.Labels = append(b.Labels, ls)
	return storage.Ref(len(b.Labels) - 1)
}

// Samples returns the number of samples: floats and histograms.
func (b *Batch) Samples() int {
	n := len(b.Points.Refs)
	for i := range b.Points.Objects {
		if b.Points.Objects[i].Kind == storage.KindHistogram {
			n++
		}
	}
	return n
}

// Size returns about how many samples of 16 bytes the batch is as large as, with its labels and objects.
func (b *Batch) Size() int {
	s := &b.sized
	for ; s.labels < len(b.Labels); s.labels++ {
		s.bytes += int(b.Labels[s.labels].ByteSize())
	}
	for ; s.objects < len(b.Points.Objects); s.objects++ {
		s.bytes += len(b.Points.Objects[s.objects].Data)
	}
	return len(b.Points.Refs) + 8*len(b.Points.Objects) + len(b.Labels) + s.bytes/16
}

// Empty reports whether nothing is in the batch.
func (b *Batch) Empty() bool {
	return len(b.Points.Refs) == 0 && len(b.Points.Objects) == 0 && len(b.Metadata) == 0
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	clear(b.Labels)
	b.Labels = b.Labels[:0]
	clear(b.Points.Objects)
	b.Points.Reset()
	clear(b.Metadata)
	b.sized = sized{}
}

// With gives each series more labels, in place of those of the same name.
func (b *Batch) With(added labels.Labels) {
	for i, ls := range b.Labels {
		b.Labels[i] = With(ls, added)
	}
}

// With returns labels with others, which replace those of the same name.
func With(ls, added labels.Labels) labels.Labels {
	if added.IsEmpty() {
		return ls
	}
	b := labels.NewBuilder(ls)
	added.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
	return b.Labels()
}

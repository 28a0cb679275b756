package storage

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// row is the content of one row of the data table: what its cells say, with every instant once.
type row struct {
	points  []point
	objects []object
	ages    []stampedAges // of cells whose points were acknowledged at different times

	cellPoints  []schema.Point // scratch
	cellObjects []schema.Object
}

type point struct {
	schema.Point
	written int64 // Time of its cell
}

type object struct {
	schema.Object
	written int64
}

// stampedAges are when the points of the cells with a Time were acknowledged.
type stampedAges struct {
	cell int64 // its Time
	ages []schema.Age
}

func (r *row) reset() { r.points, r.objects, r.ages = r.points[:0], r.objects[:0], r.ages[:0] }

// load reads the cells of a row, whoever wrote them: single, compacted and append cells and our object cells. Annotations and
// what else OpenTSDB keeps in odd qualifiers are passed over.
func (r *row) load(cells []kv.Cell) error {
	r.reset()
	for _, c := range cells {
		if err := r.add(c); err != nil {
			return fmt.Errorf("cell %x: %w", c.Qualifier, err)
		}
	}
	r.sort()
	return nil
}

// loadStored reads the cells of a row as the engine keeps them. Objects' data stay in the engine's memory.
func (r *row) loadStored(cells []kv.StoredCell, coded *schema.ColumnDecoder) (err error) {
	r.reset()
	for _, c := range cells {
		if c.Coded == nil {
			err = r.add(kv.Cell{Qualifier: c.Qualifier, Value: c.Value, Time: c.Time})
		} else {
			err = r.addCoded(c, coded)
		}
		if err != nil {
			return fmt.Errorf("cell %x: %w", c.Qualifier, err)
		}
	}
	r.sort()
	return nil
}

func (r *row) addCoded(c kv.StoredCell, coded *schema.ColumnDecoder) (err error) {
	if r.cellPoints, err = coded.AppendPoints(r.cellPoints[:0], c.Coded); err != nil {
		return err
	}
	for _, p := range r.cellPoints {
		r.points = append(r.points, point{p, c.Time})
	}
	return nil
}

func (r *row) add(c kv.Cell) (err error) {
	r.cellPoints, r.cellObjects = r.cellPoints[:0], r.cellObjects[:0]
	switch schema.ClassifyCell(c.Qualifier) {
	case schema.CellData:
		r.cellPoints, err = schema.DecodeData(r.cellPoints, c.Qualifier, c.Value)
	case schema.CellAppend:
		r.cellPoints, err = schema.DecodeAppend(r.cellPoints, c.Value)
	case schema.CellObject:
		r.cellObjects, err = schema.DecodeObjects(r.cellObjects, c.Qualifier, c.Value)
	case schema.CellAges:
		var ages []schema.Age
		if ages, err = schema.DecodeAges(nil, c.Qualifier, c.Value); err == nil {
			r.ages = append(r.ages, stampedAges{c.Time, ages})
		}
	case schema.CellAnnotation, schema.CellHistogram, schema.CellUnknown:
	}
	for _, p := range r.cellPoints {
		r.points = append(r.points, point{p, c.Time})
	}
	for _, o := range r.cellObjects {
		r.objects = append(r.objects, object{o, c.Time})
	}
	return err
}

// sort orders the content by time and leaves one sample per instant: the one from the newest cell. Two are there only when
// two writers wrote one series, or a TSD wrote an instant twice.
func (r *row) sort() {
	if len(r.ages) > 0 && (len(r.objects) > 0 || !r.ascending()) {
		r.age()
	}
	if !r.ascending() {
		slices.SortStableFunc(r.points, func(a, b point) int {
			return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.written, a.written))
		})
		r.points = slices.CompactFunc(r.points, func(a, b point) bool { return a.Offset == b.Offset })
	}
	if len(r.objects) == 0 {
		return
	}
	// Exemplars share instants: equal ones must become neighbours. Of all other kinds the newest comes first.
	slices.SortStableFunc(r.objects, func(a, b object) int {
		byTime := cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Kind, b.Kind))
		if a.Kind == schema.ObjectExemplar {
			return cmp.Or(byTime, bytes.Compare(a.Data, b.Data))
		}
		return cmp.Or(byTime, cmp.Compare(b.written, a.written))
	})
	r.objects = slices.CompactFunc(r.objects, func(a, b object) bool {
		return a.Offset == b.Offset && a.Kind == b.Kind && (a.Kind != schema.ObjectExemplar || bytes.Equal(a.Data, b.Data))
	})
	r.resolveSamples()
}

// age gives points and samples the time of their acknowledgement in place of that of their cell.
func (r *row) age() {
	slices.SortFunc(r.ages, func(a, b stampedAges) int { return cmp.Compare(a.cell, b.cell) })
	for i := range r.points {
		r.points[i].written = r.agedAt(r.points[i].Offset, r.points[i].written)
	}
	for i := range r.objects {
		if o := &r.objects[i]; o.Kind.IsSample() {
			o.written = r.agedAt(o.Offset, o.written)
		}
	}
}

func (r *row) agedAt(offset uint32, written int64) int64 {
	at, ok := slices.BinarySearchFunc(r.ages, written, func(a stampedAges, cell int64) int { return cmp.Compare(a.cell, cell) })
	if !ok {
		return written
	}
	if age, ok := ageAt(r.ages[at].ages, offset); ok {
		return age
	}
	return written
}

// resolveSamples drops the older of two samples of different kinds at one instant.
func (r *row) resolveSamples() {
	kept := r.objects[:0]
	for i, o := range r.objects {
		if o.Kind.IsSample() {
			// Float and histogram objects of one instant are neighbours, in the order of their kinds.
			if n := len(kept); n > 0 && kept[n-1].Kind.IsSample() && kept[n-1].Offset == o.Offset {
				if kept[n-1].written >= o.written {
					continue
				}
				kept = kept[:n-1]
			}
			if at, ok := r.pointAt(o.Offset); ok {
				if r.points[at].written > o.written {
					continue
				}
				r.points[at].written = gone
			}
		}
		kept = append(kept, r.objects[i])
	}
	r.objects = kept
	r.dropGone()
}

// ascending says whether every point is later than the one before it: the common row, which needs no sorting.
func (r *row) ascending() bool {
	for i := 1; i < len(r.points); i++ {
		if r.points[i].Offset <= r.points[i-1].Offset {
			return false
		}
	}
	return true
}

func (r *row) pointAt(offset uint32) (int, bool) {
	return slices.BinarySearchFunc(r.points, offset, func(p point, offset uint32) int { return cmp.Compare(p.Offset, offset) })
}

// last returns the greatest offsets of a sample and of an object, -1 when there is none.
func (r *row) last() (sample, object int32) {
	sample, object = -1, -1
	if n := len(r.points); n > 0 {
		sample = int32(r.points[n-1].Offset)
	}
	if n := len(r.objects); n > 0 {
		object = int32(r.objects[n-1].Offset)
	}
	for _, o := range slices.Backward(r.objects) {
		if o.Kind.IsSample() {
			return max(sample, int32(o.Offset)), object
		}
	}
	return sample, object
}

// compareObjects orders objects by time, kind and content.
func compareObjects(a, b schema.Object) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.Data, b.Data))
}

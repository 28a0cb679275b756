package row

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Row is the content of one row of the data table: what its cells hold, with every instant once.
type Row struct {
	Points  []Point
	Objects []Object
	ages    []stampedAges // of cells whose points were acknowledged at different times

	cellPoints  []schema.Point // scratch
	cellObjects []own.Object
}

// A Point is a point with the time of its cell.
type Point struct {
	schema.Point
	written int64 // Time of its cell
}

// An Object is an object with the time of its cell.
type Object struct {
	own.Object
	Millis  bool // a histogram of OpenTSDB whose qualifier counts milliseconds
	written int64
}

// stampedAges are when the points of the cells with a Time were acknowledged.
type stampedAges struct {
	cell int64 // its Time
	ages []own.Age
}

func (r *Row) reset() { r.Points, r.Objects, r.ages = r.Points[:0], r.Objects[:0], r.ages[:0] }

// Load reads the cells of a row, of any writer: single, compacted and append cells and our
// object cells. Annotations and what else OpenTSDB keeps in odd qualifiers are passed over.
func (r *Row) Load(cells []kv.Cell) error {
	r.reset()
	for _, c := range cells {
		if err := r.add(c); err != nil {
			return schema.CellError{Qualifier: bytes.Clone(c.Qualifier), Err: err}
		}
	}
	r.sort()
	return nil
}

// LoadStored reads the cells of a row as the engine keeps them. Objects' data stay in the engine's
// memory.
func (r *Row) LoadStored(cells []kv.StoredCell, coded *columns.Decoder) (err error) {
	r.reset()
	for _, c := range cells {
		if c.Coded == nil {
			err = r.add(kv.Cell{Qualifier: c.Qualifier, Value: c.Value, Time: c.Time})
		} else {
			err = r.addCoded(c, coded)
		}
		if err != nil {
			return schema.CellError{Qualifier: bytes.Clone(c.Qualifier), Err: err}
		}
	}
	r.sort()
	return nil
}

func (r *Row) addCoded(c kv.StoredCell, coded *columns.Decoder) (err error) {
	if r.cellPoints, err = coded.AppendPoints(r.cellPoints[:0], c.Coded); err != nil {
		return err
	}
	for _, p := range r.cellPoints {
		r.Points = append(r.Points, Point{p, c.Time})
	}
	return nil
}

func (r *Row) add(c kv.Cell) (err error) {
	r.cellPoints, r.cellObjects = r.cellPoints[:0], r.cellObjects[:0]
	switch schema.ClassifyCell(c.Qualifier) {
	case schema.CellData:
		r.cellPoints, err = schema.DecodeData(r.cellPoints, c.Qualifier, c.Value)
	case schema.CellAppend:
		r.cellPoints, err = schema.DecodeAppend(r.cellPoints, c.Value)
	case schema.CellObject:
		r.cellObjects, err = own.DecodeObjects(r.cellObjects, c.Qualifier, c.Value)
	case schema.CellAges:
		var ages []own.Age
		if ages, err = own.DecodeAges(nil, c.Qualifier, c.Value); err == nil {
			r.ages = append(r.ages, stampedAges{c.Time, ages})
		}
	case schema.CellAnnotation, schema.CellHistogram, schema.CellUnknown:
	}
	for _, p := range r.cellPoints {
		r.Points = append(r.Points, Point{p, c.Time})
	}
	for _, o := range r.cellObjects {
		r.Objects = append(r.Objects, Object{Object: o, written: c.Time})
	}
	return err
}

// sort orders the content by time and leaves one sample per instant: the one from the newest cell.
// Two are there only when two writers wrote one series, or a TSD wrote an instant twice.
func (r *Row) sort() {
	if len(r.ages) > 0 && (len(r.Objects) > 0 || !r.ascending()) {
		r.age()
	}
	if !r.ascending() {
		slices.SortStableFunc(r.Points, func(a, b Point) int {
			return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.written, a.written))
		})
		r.Points = slices.CompactFunc(r.Points, func(a, b Point) bool { return a.Offset == b.Offset })
	}
	if len(r.Objects) == 0 {
		return
	}
	slices.SortStableFunc(r.Objects, func(a, b Object) int { return compareNewest(a.Object, b.Object, a.written, b.written) })
	r.Objects = slices.CompactFunc(r.Objects, func(a, b Object) bool { return sameObject(a.Object, b.Object) })
	r.resolveSamples()
}

// age gives points and samples the time of their acknowledgement in place of that of their cell.
func (r *Row) age() {
	slices.SortFunc(r.ages, func(a, b stampedAges) int { return cmp.Compare(a.cell, b.cell) })
	for i := range r.Points {
		r.Points[i].written = r.agedAt(r.Points[i].Offset, r.Points[i].written)
	}
	for i := range r.Objects {
		if o := &r.Objects[i]; o.Kind.IsSample() {
			o.written = r.agedAt(o.Offset, o.written)
		}
	}
}

func (r *Row) agedAt(offset uint32, written int64) int64 {
	at, ok := slices.BinarySearchFunc(r.ages, written, func(a stampedAges, cell int64) int { return cmp.Compare(a.cell, cell) })
	if !ok {
		return written
	}
	if age, ok := AgeAt(r.ages[at].ages, offset); ok {
		return age
	}
	return written
}

// resolveSamples drops the older of two samples of different kinds at one instant.
func (r *Row) resolveSamples() {
	kept := r.Objects[:0]
	for i, o := range r.Objects {
		if !Replaces(o.Kind, Number) {
			kept = append(kept, r.Objects[i])
			continue
		}
		// Float and histogram objects of one instant are neighbours, in the order of their kinds.
		if n := len(kept); n > 0 && kept[n-1].Offset == o.Offset && Replaces(kept[n-1].Kind, o.Kind) {
			if kept[n-1].written >= o.written {
				continue
			}
			kept = kept[:n-1]
		}
		if at, ok := r.pointAt(o.Offset); ok {
			if r.Points[at].written > o.written {
				continue
			}
			r.Points[at].written = gone
		}
		kept = append(kept, r.Objects[i])
	}
	r.Objects = kept
	r.dropGone()
}

// ascending reports whether every point is later than the one before it: the common row, which
// needs no sorting.
func (r *Row) ascending() bool {
	for i := 1; i < len(r.Points); i++ {
		if r.Points[i].Offset <= r.Points[i-1].Offset {
			return false
		}
	}
	return true
}

func (r *Row) pointAt(offset uint32) (int, bool) {
	return slices.BinarySearchFunc(r.Points, offset, func(p Point, offset uint32) int { return cmp.Compare(p.Offset, offset) })
}

// Last returns the greatest offsets of a sample and of an object, -1 when there is none.
func (r *Row) Last() (sample, object int32) {
	sample, object = -1, -1
	if n := len(r.Points); n > 0 {
		sample = int32(r.Points[n-1].Offset)
	}
	if n := len(r.Objects); n > 0 {
		object = int32(r.Objects[n-1].Offset)
	}
	for _, o := range slices.Backward(r.Objects) {
		if o.Kind.IsSample() {
			return max(sample, int32(o.Offset)), object
		}
	}
	return sample, object
}

package storage

// An Object is a datum that OpenTSDB has no place for; it is kept in an object cell of the row.
// Equal data must have equal bytes.
type Object struct {
	Ref  Ref
	Time int64 // milliseconds
	Kind Kind
	// Millis tells, in answers, of a histogram of OpenTSDB that its time came in milliseconds.
	Millis bool
	Data   []byte

	// after is how many points of the batch come before it.
	after int
}

// A Batch is a set of points of any series in any order, in columns: Refs[i] has Values[i] at
// Times[i] (milliseconds, 0 to MaxTime). Any float64 bit pattern is a value. Of two samples of one
// series at one time the one that was added later wins, whether it is a float or an object.
type Batch struct {
	Refs    []Ref
	Times   []int64
	Values  []float64
	Objects []Object
	// Forms, when not nil, is as long as Values: as what OpenTSDB's doors got each point. An
	// integer's 64 bits are those of the value. OpenTSDB computes with integers in another way than
	// with floats; they are read as floats here.
	Forms []Form
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Refs, b.Times, b.Values, b.Objects = b.Refs[:0], b.Times[:0], b.Values[:0], b.Objects[:0]
	if b.Forms != nil {
		b.Forms = b.Forms[:0]
	}
}

// AddObject appends one object. It keeps data.
func (b *Batch) AddObject(ref Ref, time int64, kind Kind, data []byte) {
	b.AddObjectAfter(len(b.Refs), ref, time, kind, data)
}

// AddObjectAfter appends one object that was added after so many points of the batch.
func (b *Batch) AddObjectAfter(points int, ref Ref, time int64, kind Kind, data []byte) {
	b.Objects = append(b.Objects, Object{Ref: ref, Time: time, Kind: kind, Data: data, after: points})
}

// After returns how many points of its batch were added before the object.
func (o *Object) After() int { return o.after }

// Add appends one point.
func (b *Batch) Add(ref Ref, time int64, value float64) {
	b.Refs, b.Times, b.Values = append(b.Refs, ref), append(b.Times, time), append(b.Values, value)
	if b.Forms != nil {
		b.Forms = append(b.Forms, FormFloat)
	}
}

// AddForm appends one point of a form.
func (b *Batch) AddForm(ref Ref, time int64, value float64, form Form) {
	if b.Forms == nil {
		b.Forms = make([]Form, len(b.Refs), cap(b.Refs)+1)
	}
	b.Refs, b.Times, b.Values = append(b.Refs, ref), append(b.Times, time), append(b.Values, value)
	b.Forms = append(b.Forms, form)
}

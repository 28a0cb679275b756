package storage

// ArchiveSlots are values of one step, ascending.
type ArchiveSlots struct {
	Step   uint32  // seconds
	Times  []int64 // of the begins of slots: epoch seconds, multiples of the step
	Values []float64
}

// An ArchiveQuery asks for slots of one step.
type ArchiveQuery struct {
	Refs     []Ref  // each once
	Step     uint32 // seconds
	From, To int64  // epoch seconds: slots that begin from From on and before To
}

package storage

// A CustomEdit changes one key of a series' custom map from Old to New; "" is no such key.
type CustomEdit struct {
	Ref      Ref
	Old, New string
}

// Metadata describes a metric. It is kept in the metric's UIDMeta document.
type Metadata struct{ Type, Help, Unit string }

// TellsLess reports whether m has the type alone of what is known better: some clients give the texts with one series of a
// metric, and the type with all of them.
func (m Metadata) TellsLess(known Metadata) bool {
	return m != known && m == Metadata{Type: known.Type}
}

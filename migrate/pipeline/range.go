package pipeline

import "context"

// A Range is what is read at once: the points of all series of one name, a metric, from From to To
// (milliseconds, inclusive).
type Range struct {
	// Part tells, beside points, which other values of the name are meant; "" are its points.
	Part string `json:"part,omitempty"`
	Name string `json:"name"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	// Nth of Of names is this one; Of is 0 if the source does not know. They are for people alone.
	Nth int `json:"nth,omitempty"`
	Of  int `json:"of,omitempty"`
}

// A Source has points that are exported. It is safe for concurrent use.
type Source interface {
	// Ranges returns the next ranges after one, in an order that stays the same while the source
	// changes; the zero Range is before all. None means that there are no more. Ranges are small enough
	// that several are worth being read at once.
	Ranges(ctx context.Context, after Range) ([]Range, error)
	// Read gives the lines of the points of a range. It returns when all are given.
	Read(ctx context.Context, r Range, give func(Block) error) error
}

// A Block is some of the lines of a range.
type Block struct {
	Text   []byte // whole lines; valid until give returns
	Points int64  // in the text
	// LeftOut are points that the format cannot hold, and Reason is why the first of them is one.
	LeftOut int64
	Reason  string
	// Until, if above 0, means that all points of the range before this time have been given, with this
	// block.
	Until int64
}

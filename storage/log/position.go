package log

import (
	"cmp"
	"fmt"
)

// Position is the place of a record: its segment and its first byte there. Positions ascend in the
// order in which records became durable, through restarts too. The zero Position is before every
// record.
type Position struct {
	Segment uint64
	Offset  int64 // bytes from the start of the segment's file
}

// Compare is negative when p is before q, 0 when they are the same, positive when p is after q.
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(p.Segment, q.Segment); c != 0 {
		return c
	}
	return cmp.Compare(p.Offset, q.Offset)
}

// String is "segment/offset" as in the names of the files: hexadecimal, then decimal.
func (p Position) String() string { return fmt.Sprintf("%016x/%d", p.Segment, p.Offset) }

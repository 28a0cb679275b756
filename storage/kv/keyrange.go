package kv

import (
	"bytes"
	"fmt"
)

// A KeyRange is the row keys from From up to, but without, To.
type KeyRange struct{ From, To []byte }

// Check refuses a range without an end or with nothing in it: an end left out by mistake must not
// empty a table.
func (r KeyRange) Check() error {
	if len(r.To) == 0 || bytes.Compare(r.From, r.To) >= 0 {
		return fmt.Errorf("%w: range of row keys from %x to %x", ErrInvalid, r.From, r.To)
	}
	return nil
}

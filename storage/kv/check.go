package kv

import (
	"bytes"
	"fmt"
	"math"
	"unsafe"
)

// MaxKeyLength is the longest row key in bytes (HBase's HConstants.MAX_ROW_LENGTH).
const MaxKeyLength = 32767

// CheckKey reports whether a row key can be written. Engines call it before they write anything.
func CheckKey(key []byte) error {
	switch {
	case len(key) == 0:
		return fmt.Errorf("%w: empty row key", ErrInvalid)
	case len(key) > MaxKeyLength:
		return fmt.Errorf("%w: row key of %d bytes", ErrInvalid, len(key))
	}
	return nil
}

// CheckMutations returns an error when an Apply breaks the contract. Engines call it before they
// write anything. A qualifier must not be put twice either: which of the two HBase keeps is
// undefined.
func CheckMutations(rows []Mutation) error {
	for i := range rows {
		if err := rows[i].check(); err != nil {
			return err
		}
	}
	key := func(i int) []byte { return rows[i].Key }
	if twice := firstTwice(len(rows), key); twice != nil {
		return fmt.Errorf("%w: row key %x twice", ErrInvalid, twice)
	}
	return nil
}

func (m *Mutation) check() error {
	if err := CheckKey(m.Key); err != nil {
		return err
	}
	if m.DeleteRow && len(m.Puts)+len(m.Deletes) > 0 {
		return fmt.Errorf("%w: row %x deleted and changed", ErrInvalid, m.Key)
	}
	if err := m.checkTimes(); err != nil {
		return err
	}
	if len(m.Puts)+len(m.Deletes) < 2 || len(m.Puts) == 0 {
		return nil
	}
	qualifier := func(i int) []byte {
		if i < len(m.Puts) {
			return m.Puts[i].Qualifier
		}
		return m.Deletes[i-len(m.Puts)].Qualifier
	}
	if twice := firstTwice(len(m.Puts)+len(m.Deletes), qualifier); twice != nil {
		return fmt.Errorf("%w: qualifier %x of row %x twice", ErrInvalid, twice, m.Key)
	}
	return nil
}

// checkTimes refuses stamps that are not times; HBase takes the greatest number for its own clock.
func (m *Mutation) checkTimes() error {
	wrong := !stampable(m.RowTime)
	for i := range m.Puts {
		wrong = wrong || !stampable(m.Puts[i].Time)
	}
	for i := range m.Deletes {
		wrong = wrong || !stampable(m.Deletes[i].Time)
	}
	if wrong {
		return fmt.Errorf("%w: a stamp of row %x is negative or too great", ErrInvalid, m.Key)
	}
	return nil
}

func stampable(time int64) bool { return time >= 0 && time < math.MaxInt64 }

// firstTwice returns an element that occurs twice among n. Callers mostly come sorted, which needs
// no memory.
func firstTwice(n int, at func(int) []byte) []byte {
	i := 1
	for i < n && bytes.Compare(at(i-1), at(i)) < 0 {
		i++
	}
	if i >= n {
		return nil
	}
	seen := make(map[string]struct{}, n) // of the callers' bytes, which nobody changes meanwhile
	for i := range n {
		b := at(i)
		key := unsafe.String(unsafe.SliceData(b), len(b))
		if _, ok := seen[key]; ok {
			return append([]byte{}, b...)
		}
		seen[key] = struct{}{}
	}
	return nil
}

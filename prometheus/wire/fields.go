package wire

// Fields walks over the fields of a message. After each Next that reports true, the caller must
// call exactly one of the methods that read the value, or Skip.
type Fields struct {
	Number int32 // of the current field
	Type   int   // of the current field, a wire type

	message []byte
	start   int // of the current field
	value   int // of the current field
	next    int // where the next field begins; negative: malformed
}

// FieldsOf returns the fields of a message.
func FieldsOf(message []byte) Fields { return Fields{message: message} }

// Next moves to the next field. It reports false at the end, and where the message is malformed.
func (f *Fields) Next() bool {
	i := f.next
	if uint(i) >= uint(len(f.message)) { // also where i is negative
		return false
	}
	f.start = i
	if c := f.message[i]; c < 0x80 && c >= 1<<3 && c&7 != GroupClose {
		f.Number, f.Type, f.value = int32(c>>3), int(c&7), i+1
		return true
	}
	return f.nextLong()
}

// nextLong is Next for fields above 15 and for malformed ones.
func (f *Fields) nextLong() bool {
	if f.Number, f.Type, f.value = ReadTag(f.message, f.start); f.value < 0 {
		f.next = -1
		return false
	}
	return true
}

// Err returns ErrMalformed if the part of the message that has been read is malformed.
func (f *Fields) Err() error {
	if f.next < 0 {
		return ErrMalformed
	}
	return nil
}

// End returns where the next field begins.
func (f *Fields) End() int { return f.next }

// Begin returns where the current field begins.
func (f *Fields) Begin() int { return f.start }

// Uint reads a value of type int64, int32, uint32 or enum.
func (f *Fields) Uint() (v uint64) {
	if f.Type != Varint {
		f.next = -1
		return 0
	}
	v, f.next = readUvarint(f.message, f.value)
	return v
}

// Double reads a value of type double.
func (f *Fields) Double() (v float64) {
	v, f.next = readDouble(f.message, f.value, f.Type)
	return v
}

// Bytes reads a value of type string, bytes or message. The result shares the memory of the
// message; it is nil if the value is malformed.
func (f *Fields) Bytes() (v []byte) {
	v, f.next = ReadBytes(f.message, f.value, f.Type)
	return v
}

// Uint32s appends the values of a repeated uint32, packed or not.
func (f *Fields) Uint32s(dst []uint32) []uint32 {
	dst, f.next = ReadUint32s(dst, f.message, f.value, f.Type)
	return dst
}

// Skip passes over the current field.
func (f *Fields) Skip() { f.next = SkipField(f.message, f.start) }

package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// input is a pickle and the place up to which it has been read.
type input struct {
	pickle []byte
	i      int
}

func (in *input) byte() (byte, error) {
	if in.i == len(in.pickle) {
		return 0, errShort
	}
	in.i++
	return in.pickle[in.i-1], nil
}

// take returns the next n bytes.
func (in *input) take(n uint64) ([]byte, error) {
	if n > uint64(len(in.pickle)-in.i) {
		return nil, errShort
	}
	in.i += int(n)
	return in.pickle[in.i-int(n) : in.i], nil
}

// length reads a length of so many bytes.
func (in *input) length(size uint64) (uint64, error) {
	b, err := in.take(size)
	switch {
	case err != nil:
		return 0, err
	case size == 1:
		return uint64(b[0]), nil
	case size == 4:
		return uint64(binary.LittleEndian.Uint32(b)), nil
	}
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:]), nil
}

// line returns the bytes up to the next newline.
func (in *input) line() ([]byte, error) {
	for i := in.i; i < len(in.pickle); i++ {
		if in.pickle[i] == '\n' {
			line := in.pickle[in.i:i]
			in.i = i + 1
			return line, nil
		}
	}
	return nil, errShort
}

// indexLine reads an index of the memo.
func (in *input) indexLine() (uint64, error) {
	line, err := in.line()
	if err != nil {
		return 0, err
	}
	index, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 31)
	if err != nil {
		return 0, errMemo
	}
	return index, nil
}

func (in *input) protocol() error {
	p, err := in.byte()
	if err == nil && p > highest {
		err = fmt.Errorf("protocol %d, at most %d is read", p, highest)
	}
	return err
}

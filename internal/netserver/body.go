package netserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// Errors of ReadBody in addition to those of the reader.
var (
	ErrTooLarge = errors.New("the body is too large")
	ErrBusy     = errors.New("too many bytes of requests at once")
	// ErrLate is of a body that did not come before its deadline. It wraps os.ErrDeadlineExceeded.
	ErrLate = fmt.Errorf("the body did not come in time; send less in one request, or fewer requests at once: %w", os.ErrDeadlineExceeded)
)

// firstBody is the memory that a body begins with, in bytes.
const firstBody = 16 << 10

// bodyPiece is how much of a body is read at once, in bytes.
const bodyPiece = 64 << 10

// A Body is the bounds of a body that ReadBody reads.
type Body struct {
	Claimed int64 // bytes, as the sender claims; below 0: not claimed
	Limit   int   // bytes
	Share   *Share
}

// ReadBody appends a body to dst, whose memory it uses. It takes memory from the share before it
// allocates it. Memory grows with the bytes that have arrived, to at most twice as much, and never
// with the claimed length.
func (b Body) ReadBody(dst []byte, r io.Reader) ([]byte, error) {
	room := len(dst)
	for {
		if len(dst) == room {
			var err error
			if dst, room, err = b.grow(dst); err != nil {
				return dst, err
			}
		}
		n, err := r.Read(dst[len(dst):min(room, len(dst)+bodyPiece)])
		if n == bodyPiece {
			runtime.Gosched() // many large bodies at once would make all others wait
		}
		dst = dst[:len(dst)+n]
		switch {
		case b.Share.WasCut():
			return dst, ErrBusy
		case len(dst) > b.Limit:
			return dst, ErrTooLarge
		case errors.Is(err, io.EOF):
			return dst, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return dst, ErrLate
		case err != nil:
			return dst, err
		}
	}
}

// grow returns dst with memory up to room. One byte more than the body takes lets it end without
// another look.
func (b Body) grow(dst []byte) (_ []byte, room int, err error) {
	room = min(max(firstBody, 2*len(dst)), b.Limit+1)
	if b.Claimed >= int64(len(dst)) && b.Claimed < int64(room) {
		room = int(b.Claimed) + 1
	}
	if room <= cap(dst) {
		if !b.Share.Take(room - len(dst)) {
			return dst, 0, ErrBusy
		}
		return dst, room, nil
	}
	if !b.Share.Take(room) {
		return dst, 0, ErrBusy
	}
	grown := append(make([]byte, 0, room), dst...)
	b.Share.Give(len(dst))
	return grown, room, nil
}

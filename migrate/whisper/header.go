package whisper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// Lengths of parts of a file, in bytes.
const (
	headerBytes  = 16
	archiveBytes = 12
	slotBytes    = 12
)

// Bounds of what is read.
const (
	// MaxArchives is the greatest number of archives of a file.
	MaxArchives = 64
	// MaxBytes is the greatest length of a file.
	MaxBytes = 1 << 29
)

// ErrDamaged means that bytes are no whisper file, or one that was cut.
var ErrDamaged = errors.New("damaged whisper file")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// A Header is what a file tells of its archives.
type Header struct {
	// Method makes a slot of an archive of those of the one before: as storage-aggregation.conf names it.
	Method string
	// XFF is the part of the finer slots that must have points: xFilesFactor, 0 to 1.
	XFF float64
	// Archives are the resolutions, the finest first.
	Archives []conf.Archive
}

// methods are the names of aggregation methods, by their numbers in a header from 1.
var methods = []string{"average", "sum", "last", "max", "min", "avg_zero", "absmax", "absmin"}

// parseHeader reads a header, and the offsets of the archives. data is all of a file.
func parseHeader(data []byte) (h Header, offsets []int, err error) {
	if len(data) < headerBytes {
		return h, nil, damaged("%d bytes are no header", len(data))
	}
	method, longest := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	h.XFF = float64(math.Float32frombits(binary.BigEndian.Uint32(data[8:])))
	count := binary.BigEndian.Uint32(data[12:])
	switch {
	case method < 1 || int(method) > len(methods):
		return h, nil, damaged("aggregation method %d", method)
	case !(h.XFF >= 0 && h.XFF <= 1):
		return h, nil, damaged("xFilesFactor %v", h.XFF)
	case count < 1 || count > MaxArchives:
		return h, nil, damaged("%d archives", count)
	case len(data) < headerBytes+int(count)*archiveBytes:
		return h, nil, damaged("it ends in the list of its %d archives", count)
	}
	h.Method = methods[method-1]
	list := data[headerBytes : headerBytes+int(count)*archiveBytes]
	for i := range int(count) {
		at := list[i*archiveBytes:]
		offset := int64(binary.BigEndian.Uint32(at))
		a := conf.Archive{Step: int64(binary.BigEndian.Uint32(at[4:])), Points: int64(binary.BigEndian.Uint32(at[8:]))}
		switch {
		case a.Step == 0 || a.Points == 0:
			return h, nil, damaged("archive %d has %d slots of %d s", i, a.Points, a.Step)
		case offset < int64(headerBytes+len(list)) || offset+a.Points*slotBytes > int64(len(data)):
			return h, nil, damaged("archive %d takes the bytes %d to %d of %d", i, offset, offset+a.Points*slotBytes, len(data))
		}
		h.Archives, offsets = append(h.Archives, a), append(offsets, int(offset))
	}
	if err := h.check(); err != nil {
		return h, nil, damaged("%v", err)
	}
	if h.size() > int64(len(data)) {
		return h, nil, damaged("archives of %d bytes lie over each other", h.size())
	}
	if last := h.Archives[count-1].Retention(); int64(longest) != last {
		return h, nil, damaged("it reaches back %d s, and its last archive %d s", longest, last)
	}
	return h, offsets, nil
}

// check returns what whisper would refuse.
func (h *Header) check() error {
	if err := conf.CheckArchives(h.Archives); err != nil {
		return err
	}
	switch {
	case len(h.Archives) == 0 || len(h.Archives) > MaxArchives:
		return fmt.Errorf("%d archives", len(h.Archives))
	case !(h.XFF >= 0 && h.XFF <= 1):
		return fmt.Errorf("xFilesFactor %v", h.XFF)
	case !slices.Contains(methods, h.Method) && !slices.Contains(packedMethods, h.Method):
		return fmt.Errorf("aggregation method %q", h.Method)
	}
	return nil
}

// size returns the length of a file with this header.
func (h *Header) size() int64 {
	n := int64(headerBytes + len(h.Archives)*archiveBytes)
	for _, a := range h.Archives {
		n += a.Points * slotBytes
	}
	return n
}

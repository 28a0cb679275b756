package push

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
)

const (
	// longestLine is how many bytes a line of JSON may have: VictoriaMetrics cuts its lines with max_rows_per_line.
	longestLine = 8 << 20
	// lineMemory is about how many bytes a byte of a line takes while it is read and decoded: two bytes may be a value,
	// which is in three lists.
	lineMemory = 16
	// freeLine is how long a line may be without memory of its own: that of the request has place for it.
	freeLine = 128 << 10
)

var errLongLine = fmt.Errorf("line of more than %d bytes; max_rows_per_line of VictoriaMetrics' export makes shorter ones", longestLine)

// lines reads lines, and takes memory for long ones as they come.
type lines struct {
	from  *bufio.Reader
	share *writelimits.Share
	line  []byte
	taken int // bytes of share
}

// next returns the next line without its end, valid until the one after it; errLongLine, with the beginning of it: it is
// too long, and the one after it can be read.
func (l *lines) next() ([]byte, error) {
	l.share.Give(l.taken)
	l.taken = 0
	if cap(l.line) > freeLine {
		l.line = nil
	}
	l.line = l.line[:0]
	long := false
	for {
		piece, err := l.from.ReadSlice('\n')
		if long = long || len(l.line)+len(piece) > longestLine; !long {
			if grown := l.grow(piece); grown != nil {
				return nil, grown
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(l.line) == 0:
			return nil, err
		case long:
			return l.line[:min(len(l.line), shownLine)], errLongLine
		}
		return bytes.TrimSpace(l.line), nil // an error comes again
	}
}

// grow adds a piece to the line.
func (l *lines) grow(piece []byte) error {
	if len(l.line)+len(piece) > freeLine {
		need := lineMemory*(len(l.line)+len(piece)) - l.taken
		if err := l.share.Need(need); err != nil {
			return err
		}
		l.taken += need
	}
	l.line = append(l.line, piece...)
	return nil
}

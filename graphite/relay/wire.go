package relay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/pickle"
)

// A Protocol is how points are sent.
type Protocol string

// The protocols, by carbon's names.
const (
	Line   Protocol = "line"
	Pickle Protocol = "pickle"
)

const (
	// frameItems is how many points carbon sends in a pickle: its MAX_DATAPOINTS_PER_MESSAGE.
	frameItems = 500
	// frameBytes is where a pickle ends in any case: half of what carbon takes.
	frameBytes = 512 << 10
)

// wire makes of points what is sent. refused counts points that the protocol has no form for.
type wire struct {
	protocol Protocol
	bytes    []byte
	frame    int // where the frame begins that has no end yet
	items    int // of it
	refused  int
}

// encode returns what is sent for points, valid until the next call, and how many points that are.
func (w *wire) encode(points []byte) (bytes []byte, sent int, err error) {
	w.bytes, w.items, w.refused = w.bytes[:0], 0, 0
	total := 0
	for ; len(points) > 0; total++ {
		var p carbon.Point
		if p, points, err = cutPoint(points); err != nil {
			return nil, 0, err
		}
		if w.protocol == Line {
			w.line(p)
		} else {
			w.item(p)
		}
	}
	w.endFrame()
	return w.bytes, total - w.refused, nil
}

// line appends a line. A name that would not be one name of a line, or too long a line, which would close
// the connection, is refused.
func (w *wire) line(p carbon.Point) {
	at := len(w.bytes)
	w.bytes = append(append(w.bytes, p.Name...), ' ')
	w.bytes = append(strconv.AppendFloat(w.bytes, p.Value, 'g', -1, 64), ' ')
	w.bytes = append(strconv.AppendInt(w.bytes, p.Time, 10), '\n')
	if len(w.bytes)-at > carbon.MaxLine || bytes.IndexFunc(p.Name, carbon.IsSpace) >= 0 {
		w.bytes = w.bytes[:at]
		w.refused++
	}
}

// item appends an item of a pickle: (name, (time, value)).
func (w *wire) item(p carbon.Point) {
	if w.items == frameItems || len(w.bytes)-w.frame > frameBytes {
		w.endFrame()
	}
	if w.items == 0 {
		w.frame = len(w.bytes)
		w.bytes = append(w.bytes, 0, 0, 0, 0)
		w.bytes = append(w.bytes, pickle.Begin+pickle.ListBegin...)
	}
	w.items++
	w.bytes = pickle.AppendText(w.bytes, p.Name)
	w.bytes = pickle.AppendFloat(pickle.AppendInt(w.bytes, p.Time), p.Value)
	w.bytes = append(w.bytes, pickle.Pair+pickle.Pair...)
}

// endFrame ends the pickle that was begun, and writes its length before it.
func (w *wire) endFrame() {
	if w.items == 0 {
		return
	}
	w.bytes = append(w.bytes, pickle.ListEnd+pickle.End...)
	binary.BigEndian.PutUint32(w.bytes[w.frame:], uint32(len(w.bytes)-w.frame-4)) //nolint:gosec // bounded by frameBytes
	w.items = 0
}

// validate refuses protocols that there are not.
func (p Protocol) validate() error {
	if p != Line && p != Pickle {
		return fmt.Errorf("--carbon.forward-protocol=%s: want %s or %s", p, Line, Pickle)
	}
	return nil
}

package graphitefiles

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
)

// An Part is some of the points of one series that come from files of Graphite's databases.
type Part struct {
	Name string
	// Kept tells of the archives of the series, as a source.Kept writes it. It comes with each part.
	Kept string
	Runs []Run
}

// An Run is ascending points of one archive.
type Run struct {
	// Step is that of a coarser archive, in seconds; 0: the points of the finest, which are the series' own.
	Step   uint32
	Times  []int64 // epoch seconds
	Values []float64
}

// Points returns the number of points.
func (p *Part) Points() (n int) {
	for i := range p.Runs {
		n += len(p.Runs[i].Times)
	}
	return n
}

// partHeader is the first line of a part as bytes, in JSON. Then come the points of all runs, each a time of 4 bytes
// and a float of 8, big-endian.
type partHeader struct {
	Name string      `json:"name"`
	Kept string      `json:"kept"`
	Runs []runHeader `json:"runs"`
}

type runHeader struct {
	Step  uint32 `json:"step"`
	Count int    `json:"count"`
}

const (
	partPointBytes = 12
	// maxPartRuns bounds the runs of a part, maxPartText the bytes of its name and of what it keeps, maxPartHeader
	// those of its first line, where each of them may take six.
	maxPartRuns   = 1024
	maxPartText   = 12 << 10
	maxPartHeader = 128 << 10
)

// check returns what makes a part too large to be sent.
func (h *partHeader) check() error {
	if len(h.Runs) > maxPartRuns {
		return fmt.Errorf("%w: a part of an import of %d runs", storage.ErrInvalid, len(h.Runs))
	}
	if n := len(h.Name) + len(h.Kept); n > maxPartText {
		return fmt.Errorf("%w: the name and the archives of %.100q… have %d bytes; at most %d are imported", storage.ErrInvalid, h.Name, n, maxPartText)
	}
	return nil
}

// AppendTo appends the part as bytes. An error is a storage.ErrInvalid.
func (p *Part) AppendTo(dst []byte) ([]byte, error) {
	h := partHeader{Name: p.Name, Kept: p.Kept}
	for i := range p.Runs {
		h.Runs = append(h.Runs, runHeader{p.Runs[i].Step, len(p.Runs[i].Times)})
	}
	if err := h.check(); err != nil {
		return dst, err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	dst = append(append(dst, text...), '\n')
	for i := range p.Runs {
		for n, t := range p.Runs[i].Times {
			dst = binary.BigEndian.AppendUint32(dst, uint32(t))
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(p.Runs[i].Values[n]))
		}
	}
	return dst, nil
}

// ParsePart reads a part. An error is a storage.ErrInvalid.
func ParsePart(b []byte) (*Part, error) {
	line, points, ok := bytes.Cut(b, []byte{'\n'})
	if !ok || len(line) > maxPartHeader {
		return nil, fmt.Errorf("%w: a part of an import has no header", storage.ErrInvalid)
	}
	var h partHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("%w: the header of a part of an import: %w", storage.ErrInvalid, err)
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	p := &Part{Name: h.Name, Kept: h.Kept}
	for _, run := range h.Runs {
		if run.Count < 0 || run.Count > len(points)/partPointBytes {
			return nil, fmt.Errorf("%w: a part of an import ends before its %d points of %d s", storage.ErrInvalid, run.Count, run.Step)
		}
		r := Run{Step: run.Step, Times: make([]int64, run.Count), Values: make([]float64, run.Count)}
		for i := range r.Times {
			at := points[i*partPointBytes:]
			r.Times[i], r.Values[i] = int64(binary.BigEndian.Uint32(at)), math.Float64frombits(binary.BigEndian.Uint64(at[4:]))
		}
		points = points[run.Count*partPointBytes:]
		p.Runs = append(p.Runs, r)
	}
	if len(points) > 0 {
		return nil, fmt.Errorf("%w: %d bytes follow a part of an import", storage.ErrInvalid, len(points))
	}
	return p, nil
}

// Package vmnative reads and writes what VictoriaMetrics' /api/v1/export/native answers. It opens no file and stores nothing.
//
// Such a file is:
//
//	range    two times, 8 bytes each: samples outside of them do not count
//	blocks   length of a name (4 bytes), name, length of data (4 bytes), data
//
// Fixed numbers are big-endian, signed ones in zigzag. A name is the metric, and keys and values of labels, each ended by 1; 0 escapes.
// Data are, in this order:
//
//	first time, last time, first value, number of samples, power of ten    varints
//	how times and how values are packed, precision of the values           a byte each
//	times, values                                                          each with its length before it
//
// Values are integers, times the power of ten. Old servers, such as 1.79, write neither the last time nor the precision, and nothing in
// the file tells that. What is written is as new servers write it.
package vmnative

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// Bounds of a file, those of VictoriaMetrics.
const (
	mostBytes = 1 << 20 // of a name, or of a block
	mostRows  = 16 << 10
	// mostUnpacked is of a column; one of so many rows has less than 200 KB.
	mostUnpacked = 1 << 20
)

// A Block is some samples of a series. It is valid until the next one is read.
type Block struct {
	Labels labels.Labels
	Times  []int64 // milliseconds, ascending
	Values []float64
}

// A BadBlockError is of a block that cannot be read. Those that follow can be.
type BadBlockError struct {
	Nth int // of the file, from 1
	Err error
}

// Error names the block.
func (e *BadBlockError) Error() string { return fmt.Sprintf("block %d: %v", e.Nth, e.Err) }

// Unwrap returns the error.
func (e *BadBlockError) Unwrap() error { return e.Err }

// A Reader reads a file.
type Reader struct {
	from       *bufio.Reader
	first, end int64
	nth        int
	zip        *zstd.Decoder
	layouts    []layout // that the blocks may have

	name, data []byte
	unpacked   []byte
	times      []int64
	values     []int64
	builder    labels.ScratchBuilder
	block      Block
}

// NewReader begins to read a file.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{layouts: []layout{layoutNew, layoutOld}, from: bufio.NewReaderSize(from, 1<<16), builder: labels.NewScratchBuilder(16)}
	var both [16]byte
	if _, err := io.ReadFull(r.from, both[:]); err != nil {
		return nil, fmt.Errorf("it is no native export of VictoriaMetrics: its time range: %w", err)
	}
	r.first, r.end = zigzag(binary.BigEndian.Uint64(both[:])), zigzag(binary.BigEndian.Uint64(both[8:]))
	if r.first > r.end {
		return nil, fmt.Errorf("it is no native export of VictoriaMetrics: it begins at %d and ends at %d", r.first, r.end)
	}

	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostUnpacked), zstd.WithDecoderLowmem(true))
	r.zip = zip
	return r, err
}

// Close gives memory back.
func (r *Reader) Close() { r.zip.Close() }

func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// Next returns the next block; io.EOF: there is none. After a *BadBlockError others may follow.
func (r *Reader) Next() (*Block, error) {
	var err error
	if r.name, err = r.field(r.name); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("name of block %d: %w", r.nth+1, err)
	}
	r.nth++
	if r.data, err = r.field(r.data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("block %d: %w", r.nth, err)
	}
	if err := r.parse(); err != nil {
		return nil, &BadBlockError{r.nth, err}
	}
	return &r.block, nil
}

// field reads bytes with their length before them. io.EOF: there are none.
func (r *Reader) field(b []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r.from, length[:]); err != nil {
		return b, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n > mostBytes {
		return b, fmt.Errorf("%d bytes, more than %d", n, mostBytes)
	}
	if cap(b) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	if _, err := io.ReadFull(r.from, b); err != nil {
		return b, fmt.Errorf("%d bytes: %w", n, io.ErrUnexpectedEOF)
	}
	return b, nil
}

// parse reads the block of a name and data. The first one that can be read tells the layout of all.
func (r *Reader) parse() (err error) {
	if err := r.parseName(); err != nil {
		return err
	}
	for n, l := range r.layouts {
		bad := r.parseData(l)
		if bad == nil {
			r.layouts = r.layouts[n : n+1]
			return nil
		}
		if err == nil {
			err = bad
		}
	}
	return err
}

// parseData reads the block of data.
func (r *Reader) parseData(l layout) error {
	h, rest, err := parseHeader(r.data, l)
	if err != nil {
		return err
	}
	times, rest, err := column(rest)
	if err != nil {
		return fmt.Errorf("times: %w", err)
	}
	values, rest, err := column(rest)
	if err != nil {
		return fmt.Errorf("values: %w", err)
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes follow the values", len(rest))
	}
	if r.times, err = r.unpack(r.times[:0], h.rows, h.timesAs, h.first, times); err != nil {
		return fmt.Errorf("times: %w", err)
	}
	if err := h.order(r.times); err != nil {
		return err
	}
	if r.values, err = r.unpack(r.values[:0], h.rows, h.valuesAs, h.value, values); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	r.keep(h.scale)
	return nil
}

// keep makes the block of the samples in the range of the file.
func (r *Reader) keep(scale int) {
	b := &r.block
	b.Times, b.Values = b.Times[:0], b.Values[:0]
	power := math.Pow10(max(scale, -scale))
	for i, t := range r.times {
		if t >= r.first && t <= r.end {
			b.Times, b.Values = append(b.Times, t), append(b.Values, float(r.values[i], scale, power))
		}
	}
}

// The integers that are no numbers.
const (
	plusInf  = math.MaxInt64
	minusInf = math.MinInt64
	stale    = math.MaxInt64 - 1
)

// float returns an integer times a power of ten.
func float(v int64, scale int, power float64) float64 {
	switch {
	case v == plusInf:
		return math.Inf(1)
	case v == minusInf:
		return math.Inf(-1)
	case v == stale:
		return math.Float64frombits(value.StaleNaN)
	case v == 0:
		return 0
	case scale < 0:
		return float64(v) / power
	}
	return float64(v) * power
}

// parseName reads the labels.
func (r *Reader) parseName() error {
	r.builder.Reset()
	rest, metric, err := text(r.name)
	if err != nil {
		return fmt.Errorf("metric: %w", err)
	}
	if len(metric) > 0 {
		r.builder.Add(model.MetricNameLabel, string(metric))
	}
	for len(rest) > 0 {
		var name, v []byte
		if rest, name, err = text(rest); err == nil {
			rest, v, err = text(rest)
		}
		if err != nil {
			return fmt.Errorf("labels: %w", err)
		}
		r.builder.Add(string(name), string(v))
	}
	r.builder.Sort()
	r.block.Labels = r.builder.Labels()
	if name, twice := r.block.Labels.HasDuplicateLabelNames(); twice {
		return fmt.Errorf("label %q is there twice", name)
	}
	return nil
}

// text reads a part of a name.
func text(b []byte) (rest, found []byte, err error) {
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == 1:
			return b[i+1:], found, nil
		case b[i] != 0:
			found = append(found, b[i])
		case i+1 == len(b) || b[i+1] < '0' || b[i+1] > '2':
			return nil, nil, errors.New("an escape of nothing")
		default:
			i++
			found = append(found, b[i]-'0')
		}
	}
	return nil, nil, errors.New("it has no end")
}

package vmnative

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

const (
	// blockRows is how many samples VictoriaMetrics writes into a block at most.
	blockRows = 8 << 10
	// fewestZipped is how many bytes of a column are worth zstd.
	fewestZipped = 128
)

// AppendRange appends what a file begins with: the times, in milliseconds, that its samples have.
func AppendRange(dst []byte, first, last int64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, zag(first))
	return binary.BigEndian.AppendUint64(dst, zag(last))
}

// zag is the inverse of zigzag.
func zag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// Counts are numbers of samples.
type Counts struct {
	Exact   int64 // that readers get with the same bits
	Rounded int64 // of which readers get a value near it: the format has no decimal for them, or they are -0
	Left    int64 // that the format has no place for: NaN, but for stale markers
}

// An Encoder writes the blocks of a file. It has no state between series but memory. It is not safe for concurrent use.
//
// A block has one power of ten. A series goes on in another block where no power of ten lets readers make all values with
// the same bits, instead of rounding values as VictoriaMetrics does.
type Encoder struct {
	Counts
	zip *zstd.Encoder

	name     []byte
	times    []int64
	values   []float64
	decimals []int64 // of values, times ten to the power of scale
	scale    int

	columns [2][]byte // of times and of values, packed
	deltas  []byte
	data    []byte
}

// NewEncoder returns an Encoder.
func NewEncoder() (*Encoder, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	return &Encoder{zip: zip}, err
}

var errLongName = errors.New("the labels have more bytes than the native format of VictoriaMetrics has place for")

// Begin starts a series. All its samples are given to Add, and AppendRest ends it.
func (e *Encoder) Begin(ls labels.Labels) error {
	e.name = appendName(e.name[:0], ls)
	if len(e.name) > mostBytes {
		return fmt.Errorf("%w (%d): %.200s", errLongName, mostBytes, ls)
	}
	return nil
}

// appendName appends a metric and labels.
func appendName(dst []byte, ls labels.Labels) []byte {
	dst = appendText(dst, ls.Get(model.MetricNameLabel))
	ls.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			dst = appendText(appendText(dst, l.Name), l.Value)
		}
	})
	return dst
}

// appendText is the inverse of text.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] <= 2 {
			dst = append(dst, 0, '0'+s[i])
			continue
		}
		dst = append(dst, s[i])
	}
	return append(dst, 1)
}

// Add adds a sample, which follows those before in time. It appends the block before to dst, if the sample begins a new one.
func (e *Encoder) Add(dst []byte, at int64, v float64) []byte {
	if math.IsNaN(v) && math.Float64bits(v) != value.StaleNaN {
		e.Left++
		return dst
	}
	if len(e.times) == blockRows {
		dst = e.AppendRest(dst)
	}
	m, ok := special(v)
	if !ok {
		m, ok = fit(v, e.scale)
	}
	if !ok || len(e.times) == 0 {
		dst, m, ok = e.rescale(dst, v)
	}
	if ok && (v != 0 || !math.Signbit(v)) {
		e.Exact++
	} else {
		e.Rounded++
	}
	e.times, e.values, e.decimals = append(e.times, at), append(e.values, v), append(e.decimals, m)
	return dst
}

// rescale changes the power of ten of the block to that of a value, or ends the block where that would change values. It
// returns the integer of the value.
func (e *Encoder) rescale(dst []byte, v float64) (_ []byte, m int64, exact bool) {
	m, scale, exact := decimalOf(v)
	if len(e.times) > 0 && !e.canBe(scale) {
		dst = e.AppendRest(dst)
	}
	for i, before := range e.decimals {
		if !isSpecial(before) {
			e.decimals[i] = before * powerOf10(e.scale-scale)
		}
	}
	e.scale = scale
	return dst, m, exact
}

// powerOf10 returns ten to the power of n, which is at most digits.
func powerOf10(n int) int64 {
	power := int64(1)
	for range n {
		power *= 10
	}
	return power
}

// digits is how many powers of ten fit into an integer.
const digits = 18

// canBe reports whether the values of the block can have a lower power of ten.
func (e *Encoder) canBe(scale int) bool {
	down := e.scale - scale
	switch {
	case down == 0:
		return true
	case down < 0, down > digits:
		return !slices.ContainsFunc(e.decimals, func(m int64) bool { return !isSpecial(m) })
	}
	times, power := powerOf10(down), math.Pow10(max(scale, -scale))
	for i, m := range e.decimals {
		if isSpecial(m) {
			continue
		}
		if m > largest/times || m < -largest/times || float(m*times, scale, power) != e.values[i] {
			return false
		}
	}
	return true
}

// AppendRest appends the block of the samples that are left. It must be called at the end of each series.
func (e *Encoder) AppendRest(dst []byte) []byte {
	n := len(e.times)
	if n == 0 {
		return dst
	}
	dst = appendField(dst, e.name)
	var timesAs, valuesAs byte
	e.columns[0], timesAs = e.pack(e.columns[0][:0], e.times)
	e.columns[1], valuesAs = e.pack(e.columns[1][:0], e.decimals)
	b := e.data[:0]
	for _, v := range [...]uint64{zag(e.times[0]), zag(e.times[n-1]), zag(e.decimals[0]), uint64(n), zag(int64(e.scale))} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(b, timesAs, valuesAs, fullPrecision)
	for _, column := range e.columns {
		b = append(binary.AppendUvarint(b, uint64(len(column))), column...)
	}
	e.data, e.scale = b, 0
	e.times, e.values, e.decimals = e.times[:0], e.values[:0], e.decimals[:0]
	return appendField(dst, b)
}

// appendField appends bytes after their length.
func appendField(dst, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(b))), b...)
}

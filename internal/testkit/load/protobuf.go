package load

import (
	"encoding/binary"
	"math"

	"github.com/golang/snappy"
)

// appendBytes appends a field of bytes: its tag, length and content.
func appendBytes[T string | []byte](b []byte, field byte, v T) []byte {
	b = binary.AppendUvarint(append(b, field<<3|2), uint64(len(v)))
	return append(b, v...)
}

// appendSample appends the content of a Sample, which is the same in both versions: value 1,
// milliseconds 2.
func appendSample(b []byte, s Sample) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, 1<<3|1), math.Float64bits(s.Value))
	return binary.AppendUvarint(append(b, 2<<3), uint64(s.Time))
}

// remoteWrite1 encodes prometheus.WriteRequest: field 1, TimeSeries of Label (1) and Sample (2).
type remoteWrite1 struct {
	request, series, part, out []byte
	labels                     map[*Series][]byte // the fields 1 of a series
}

func (e *remoteWrite1) add(s Sample) {
	e.series = append(e.series[:0], e.labelsOf(s.Series)...)
	e.part = appendSample(e.part[:0], s)
	e.series = appendBytes(e.series, 2, e.part)
	e.request = appendBytes(e.request, 1, e.series)
}

func (e *remoteWrite1) labelsOf(s *Series) []byte {
	if known, ok := e.labels[s]; ok {
		return known
	}
	if e.labels == nil {
		e.labels = map[*Series][]byte{}
	}
	var all []byte
	for _, l := range s.Labels {
		e.part = appendBytes(appendBytes(e.part[:0], 1, l.Name), 2, l.Value)
		all = appendBytes(all, 1, e.part)
	}
	e.labels[s] = all
	return all
}

func (e *remoteWrite1) finish() []byte {
	e.out = snappy.Encode(e.out[:cap(e.out)], e.request)
	e.request = e.request[:0]
	return e.out
}

// remoteWrite2 encodes io.prometheus.write.v2.Request: symbols 4, of which the first is empty, and
// TimeSeries 5 of label references (1, packed) and Sample (2). Symbols are numbered anew in each
// request.
type remoteWrite2 struct {
	numbers                          map[string]uint32
	symbols                          []string
	request, series, refs, part, out []byte
}

func newRemoteWrite2() *remoteWrite2 {
	e := &remoteWrite2{numbers: map[string]uint32{}}
	e.reset()
	return e
}

func (e *remoteWrite2) reset() {
	clear(e.numbers)
	e.symbols, e.request = e.symbols[:0], e.request[:0]
	e.symbol("")
}

func (e *remoteWrite2) symbol(text string) uint64 {
	n, ok := e.numbers[text]
	if !ok {
		n = uint32(len(e.symbols))
		e.numbers[text] = n
		e.symbols = append(e.symbols, text)
	}
	return uint64(n)
}

func (e *remoteWrite2) add(s Sample) {
	e.refs = e.refs[:0]
	for _, l := range s.Series.Labels {
		e.refs = binary.AppendUvarint(e.refs, e.symbol(l.Name))
		e.refs = binary.AppendUvarint(e.refs, e.symbol(l.Value))
	}
	e.part = appendSample(e.part[:0], s)
	e.series = appendBytes(appendBytes(e.series[:0], 1, e.refs), 2, e.part)
	e.request = appendBytes(e.request, 5, e.series)
}

func (e *remoteWrite2) finish() []byte {
	var all []byte
	for _, text := range e.symbols {
		all = appendBytes(all, 4, text)
	}
	e.out = snappy.Encode(e.out[:cap(e.out)], append(all, e.request...))
	e.reset()
	return e.out
}

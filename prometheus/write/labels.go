package write

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// seriesKey returns the bytes that identify a series. A key of 1.0 is a part of the body. A key of
// 2.0 is appended to r.keys: its strings, each after its length.
func (r *message) seriesKey(i int, limit int) ([]byte, error) {
	if r.version == version1 {
		// A label takes six bytes in addition to its text, so only hundreds of thousands of empty
		// labels come near this limit. Parsed, each takes 25 times its size.
		if key := r.series[i].block.bytes; len(key) <= 4*limit {
			return key, nil
		}
		return nil, tooLong(limit)
	}
	refs := r.refs[r.series[i].refs.start:r.series[i].refs.end]
	if len(refs)%2 != 0 {
		return nil, fmt.Errorf("%d label references, an odd number", len(refs))
	}
	start := len(r.keys)
	keys := r.keys
	for _, ref := range refs {
		if int64(ref) >= int64(len(r.symbols)) {
			_, err := r.symbols.text(ref)
			return nil, err
		}
		s := r.symbols[ref]
		if len(keys)-start+len(s) > limit {
			return nil, tooLong(limit)
		}
		keys = append(binary.AppendUvarint(keys, uint64(len(s))), s...)
	}
	r.keys = keys
	return keys[start:len(keys):len(keys)], nil
}

// forgetKey removes the key of 2.0 that seriesKey appended last.
func (r *message) forgetKey(key []byte) {
	if r.version == version2 {
		r.keys = r.keys[:len(r.keys)-len(key)]
	}
}

// countLabels returns how many labels a series has.
func (r *message) countLabels(i int) (n int) {
	if s := &r.series[i]; r.version == version2 {
		return int(s.refs.end-s.refs.start) / 2
	}
	f := wire.FieldsOf(r.series[i].block.bytes)
	for f.Next() {
		f.Skip()
		n++
	}
	return n
}

func tooLong(limit int) error { return fmt.Errorf("labels of more than %d bytes", limit) }

// symbols are the texts of a request of 2.0.
type symbols [][]byte

func (s symbols) text(ref uint32) ([]byte, error) {
	if int64(ref) >= int64(len(s)) {
		return nil, fmt.Errorf("reference to symbol %d of %d", ref, len(s))
	}
	return s[ref], nil
}

// refersToText reports whether a reference is invalid or refers to a text that is not empty.
func (s symbols) refersToText(ref uint32) bool {
	if ref == 0 {
		return false
	}
	t, err := s.text(ref)
	return err != nil || len(t) > 0
}

// keyLabels appends the labels of a key that seriesKey returned. It fails only for malformed
// protobuf.
func (r *message) keyLabels(dst []rawLabel, key []byte) ([]rawLabel, error) {
	if r.version == version1 {
		return parseBlock(dst, key)
	}
	for i := 0; i < len(key); {
		var l rawLabel
		l.name, i = wire.ReadBytes(key, i, wire.Bytes)
		l.value, i = wire.ReadBytes(key, i, wire.Bytes)
		dst = append(dst, l)
	}
	return dst, nil
}

// exemplarLabels appends the labels of an exemplar. The walk has checked that those of 1.0 are well
// formed.
func (r *message) exemplarLabels(dst []rawLabel, e *messageExemplar) ([]rawLabel, error) {
	if r.version == version1 {
		return parseBlock(dst, e.block.bytes)
	}
	refs := r.exemplarRefs[e.refs.start:e.refs.end]
	if len(refs)%2 != 0 {
		return dst, fmt.Errorf("%d label references, an odd number", len(refs))
	}
	for i := 0; i < len(refs); i += 2 {
		name, err := r.symbols.text(refs[i])
		if err != nil {
			return dst, err
		}
		value, err := r.symbols.text(refs[i+1])
		if err != nil {
			return dst, err
		}
		dst = append(dst, rawLabel{name, value})
		if len(dst) > 2*exemplar.ExemplarMaxLabelSetLength {
			break // too long already, and a reference is one byte
		}
	}
	return dst, nil
}

// checkSeries brings labels into the form in which they name a series: sorted, without empty
// values. Like Prometheus, it refuses labels without a metric name, an empty label name, a label
// name that occurs twice, and bytes that are not UTF-8.
func checkSeries(ls []rawLabel, limit int) ([]rawLabel, error) {
	size := 0
	for _, l := range ls {
		size += len(l.name) + len(l.value)
	}
	if size > limit {
		return nil, tooLong(limit)
	}
	if err := checkNames(ls); err != nil {
		return nil, err
	}
	ls = slices.DeleteFunc(ls, func(l rawLabel) bool { return len(l.value) == 0 })
	if len(metricName(ls)) == 0 {
		return nil, errors.New("no metric name")
	}
	return ls, nil
}

// checkNames sorts labels and checks their names and values.
func checkNames(ls []rawLabel) error {
	if byName := func(a, b rawLabel) int { return bytes.Compare(a.name, b.name) }; !slices.IsSortedFunc(ls, byName) {
		slices.SortFunc(ls, byName)
	}
	for i, l := range ls {
		switch {
		case len(l.name) == 0:
			return errors.New("empty label name")
		case !utf8.Valid(l.name):
			return fmt.Errorf("label name %s is not UTF-8", quoteShort(l.name))
		case !utf8.Valid(l.value):
			return fmt.Errorf("value of label %s is not UTF-8", quoteShort(l.name))
		case i > 0 && bytes.Equal(l.name, ls[i-1].name):
			return fmt.Errorf("label %s occurs twice", quoteShort(l.name))
		}
	}
	return nil
}

// metricName returns the metric name of labels, empty without one.
func metricName(ls []rawLabel) []byte {
	for _, l := range ls {
		if string(l.name) == model.MetricNameLabel {
			return l.value
		}
	}
	return nil
}

var errLongExemplar = fmt.Errorf("labels of more than %d characters", exemplar.ExemplarMaxLabelSetLength)

// checkExemplar checks the labels of an exemplar by the rules of OpenMetrics; it may have none.
func checkExemplar(ls []rawLabel) error {
	const limit = exemplar.ExemplarMaxLabelSetLength
	size := 0
	for _, l := range ls { // in 2.0, a short message may refer to long labels millions of times
		if size += len(l.name) + len(l.value); size > utf8.UTFMax*limit {
			return errLongExemplar
		}
	}
	if err := checkNames(ls); err != nil {
		return err
	}
	size = 0
	for _, l := range ls {
		if size += utf8.RuneCount(l.name) + utf8.RuneCount(l.value); size > limit {
			return errLongExemplar
		}
	}
	return nil
}

// toLabels copies labels into Prometheus' form. The builder copies each string, since the body is
// reused.
func toLabels(b *labels.ScratchBuilder, ls []rawLabel) labels.Labels {
	b.Reset()
	b.SetUnsafeAdd(true)
	for _, l := range ls {
		b.Add(unsafe.String(unsafe.SliceData(l.name), len(l.name)), unsafe.String(unsafe.SliceData(l.value), len(l.value)))
	}
	return b.Labels()
}

// shortLabels is about how many bytes of a series are printed.
const shortLabels = 160

// appendLabels prints labels as Prometheus does, also invalid ones, and cuts them short.
func appendLabels(dst []byte, ls []rawLabel) []byte {
	start := len(dst)
	dst = append(dst, '{')
	for i, l := range ls {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if len(dst)-start > shortLabels {
			return append(dst, "...}"...)
		}
		if model.LegacyValidation.IsValidLabelName(string(l.name[:min(len(l.name), shortLabels)])) {
			dst = appendShort(dst, l.name)
		} else {
			dst = append(dst, quoteShort(l.name)...)
		}
		dst = append(append(dst, '='), quoteShort(l.value)...)
	}
	return append(dst, '}')
}

// quoteShort quotes text that may be long and may not be UTF-8.
func quoteShort(s []byte) string { return strconv.Quote(string(appendShort(nil, s))) }

func appendShort(dst, s []byte) []byte {
	const limit = 48
	if len(s) <= limit {
		return append(dst, s...)
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return append(append(dst, s[:cut]...), "..."...)
}

package schema

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

// RowSeconds is the span of a data row: OpenTSDB's Const.MAX_TIMESPAN.
const RowSeconds = 3600

// RowMillis is RowSeconds in milliseconds.
const RowMillis = RowSeconds * 1000

// Base returns the base time in seconds of the row of a time in milliseconds, which is not negative
// and whose seconds fit 32 bits (OpenTSDB takes larger ones and lets the base time wrap silently).
func Base(ms int64) uint32 { return uint32(ms / RowMillis * RowSeconds) }

// Offset returns the place of a time in milliseconds within its row, in milliseconds.
func Offset(ms int64) uint32 { return uint32(ms % RowMillis) }

// Time puts Base and Offset together again: milliseconds.
func Time(base, offset uint32) int64 { return int64(base)*1000 + int64(offset) }

// A Pair is one tag: the UIDs of its key and its value.
type Pair struct{ Key, Value []byte }

// AppendTSUID appends the TSUID of a series: the metric's UID, then the tags by their bytes, not by
// their names. It sorts the pairs in place. Every UID must have its width.
func (l Layout) AppendTSUID(dst, metric []byte, pairs []Pair) []byte {
	slices.SortFunc(pairs, func(a, b Pair) int {
		if c := bytes.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return bytes.Compare(a.Value, b.Value)
	})
	dst = append(dst, metric...)
	for _, p := range pairs {
		dst = append(dst, p.Key...)
		dst = append(dst, p.Value...)
	}
	return dst
}

// ParseTSUID cuts a TSUID, into which the parts point, into its metric and its tags, which are
// whole pairs.
func (l Layout) ParseTSUID(tsuid []byte) (metric, tags []byte, err error) {
	if len(tsuid) < l.MetricWidth || (len(tsuid)-l.MetricWidth)%l.PairWidth() != 0 {
		return nil, nil, fmt.Errorf("TSUID %X: %d bytes are not a metric of %d and tags of %d",
			Clip(tsuid), len(tsuid), l.MetricWidth, l.PairWidth())
	}
	return tsuid[:l.MetricWidth:l.MetricWidth], tsuid[l.MetricWidth:], nil
}

// CheckSeries returns what is wrong with the TSUID of a series: it has a metric and whole tags, at
// least one, and no UID of 0. Rows of others are of no series.
func (l Layout) CheckSeries(tsuid []byte) error {
	metric, tags, err := l.ParseTSUID(tsuid)
	switch {
	case err != nil:
		return err
	case len(tags) == 0:
		return fmt.Errorf("TSUID %X has no tags", Clip(tsuid))
	case isZero(metric):
		return fmt.Errorf("TSUID %X has the metric 0", Clip(tsuid))
	}
	for tagk, tagv := range l.Pairs(tags) {
		if isZero(tagk) || isZero(tagv) {
			return fmt.Errorf("TSUID %X has a tag with a UID of 0", Clip(tsuid))
		}
	}
	return nil
}

func isZero(uid []byte) bool { return len(bytes.TrimLeft(uid, "\x00")) == 0 }

// Pairs walks the tags of a TSUID or a row key: the UIDs of key and value.
func (l Layout) Pairs(tags []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(tagk, tagv []byte) bool) {
		for ; len(tags) >= l.PairWidth(); tags = tags[l.PairWidth():] {
			if !yield(tags[:l.TagkWidth:l.TagkWidth], tags[l.TagkWidth:l.PairWidth():l.PairWidth()]) {
				return
			}
		}
	}
}

// AppendRowKey appends the key of a series' row at a base time: salt, metric, base time, tags.
func (l Layout) AppendRowKey(dst, tsuid []byte, base uint32) []byte {
	dst = l.AppendRangeKey(dst, l.Bucket(tsuid), tsuid[:l.MetricWidth], base)
	return append(dst, tsuid[l.MetricWidth:]...)
}

// AppendRangeKey appends the part of a row key that orders the rows of a metric by time: a bound of
// a scan over one bucket.
func (l Layout) AppendRangeKey(dst []byte, bucket int, metric []byte, base uint32) []byte {
	dst = l.AppendSalt(dst, bucket)
	dst = append(dst, metric...)
	return binary.BigEndian.AppendUint32(dst, base)
}

// A RowKey is a data row key without its salt. Metric and Tags point into the key.
type RowKey struct {
	Metric []byte
	Base   uint32 // seconds
	Tags   []byte // pairs; none in a row of global annotations, whose metric is all zeros
}

// ParseRowKey cuts a data row key into its parts. The salt is not checked: like OpenTSDB's queries,
// it takes a row in any bucket.
func (l Layout) ParseRowKey(key []byte) (RowKey, error) {
	prefix := l.PrefixWidth()
	if len(key) < prefix || (len(key)-prefix)%l.PairWidth() != 0 {
		return RowKey{}, fmt.Errorf("row key %X: %d bytes are not a prefix of %d and tags of %d",
			Clip(key), len(key), prefix, l.PairWidth())
	}
	at := prefix - baseWidth
	return RowKey{
		Metric: key[l.SaltWidth:at:at],
		Base:   binary.BigEndian.Uint32(key[at:]),
		Tags:   key[prefix:],
	}, nil
}

// AppendTSUID appends the TSUID of the row's series.
func (k RowKey) AppendTSUID(dst []byte) []byte {
	return append(append(dst, k.Metric...), k.Tags...)
}

// Clip keeps error texts short: a broken key or cell may have any length.
func Clip(b []byte) []byte { return b[:min(len(b), 64)] }

package schema

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// The counter of annotations' numbers lies in tsdb-tree, as Lease does: 8 bytes, big-endian.
const (
	annotationNumberKey = "\x00\x00tsdbridge.annotations:number"
	// AnnotationNumberQualifier is the column of the counter.
	AnnotationNumberQualifier = "tsdbridge.number"
)

// AnnotationNumberKey is the row of the counter.
func AnnotationNumberKey() []byte { return []byte(annotationNumberKey) }

// MillisOf returns a time of an annotation in milliseconds.
func MillisOf(time int64) int64 {
	if time > math.MaxUint32 { // OpenTSDB's Const.SECOND_MASK
		return time
	}
	return time * 1000
}

// AnnotationCell returns where the annotation with a start is: the base time of its row, and its
// qualifier. start is at least 1, and at most a time that a row can have. Whole seconds have the
// qualifier of seconds. OpenTSDB (2.4 Annotation.getQualifier) divides every multiple of 1000 by
// 1000 in order to tell, those that are seconds too: these stand at a wrong second of their row,
// where another note may be, and are found there.
func AnnotationCell(start int64) (base uint32, qualifier []byte) {
	base = Base(MillisOf(start))
	time := start
	if time%1000 == 0 {
		time /= 1000
	}
	if time > math.MaxUint32 {
		return base, binary.BigEndian.AppendUint32([]byte{prefixAnnotation}, Offset(time))
	}
	return base, binary.BigEndian.AppendUint16([]byte{prefixAnnotation}, uint16(time%RowSeconds))
}

// AppendAnnotationKey appends the key of the row that annotations of a series have at a base time,
// which is that of its points; without a TSUID that of global ones, which is never salted.
func (l Layout) AppendAnnotationKey(dst, tsuid []byte, base uint32) []byte {
	if len(tsuid) > 0 {
		return l.AppendRowKey(dst, tsuid, base)
	}
	return l.AppendRangeKey(dst, 0, make([]byte, l.MetricWidth), base)
}

// AppendAnnotation appends the document as OpenTSDB 2.4 Annotation.getStorageJSON prints it. A TSD edits it
// only if the stored bytes are these.
func AppendAnnotation(dst []byte, a storage.Annotation) []byte {
	dst = append(dst, '{')
	if a.TSUID != "" {
		dst = append(appendField(dst, `"tsuid":`, a.TSUID), ',')
	}
	dst = strconv.AppendInt(append(dst, `"startTime":`...), a.Start, 10)
	dst = strconv.AppendInt(append(dst, `,"endTime":`...), a.End, 10)
	dst = appendField(dst, `,"description":`, a.Description)
	dst = appendField(dst, `,"notes":`, a.Notes)
	dst = appendMap(append(dst, `,"custom":`...), a.Custom)
	return append(dst, '}')
}

// AppendShownAnnotation appends the document as OpenTSDB's HTTP API shows it.
func AppendShownAnnotation(dst []byte, a storage.Annotation) []byte {
	dst = appendField(dst, `{"tsuid":`, a.TSUID)
	dst = appendField(dst, `,"description":`, a.Description)
	dst = appendField(dst, `,"notes":`, a.Notes)
	if a.Custom != nil {
		dst = appendMap(append(dst, `,"custom":`...), a.Custom)
	}
	dst = strconv.AppendInt(append(dst, `,"startTime":`...), a.Start, 10)
	dst = strconv.AppendInt(append(dst, `,"endTime":`...), a.End, 10)
	return append(dst, '}')
}

// ParseAnnotation reads a document as Jackson does: fields that it does not know are left out,
// numbers may be text, and text may be a number or a boolean.
func ParseAnnotation(b []byte) (storage.Annotation, error) {
	f := parseFields(b)
	a := storage.Annotation{
		TSUID: f.scalar("tsuid"), Start: f.long("startTime"), End: f.long("endTime"),
		Description: f.scalar("description"), Notes: f.scalar("notes"), Custom: f.texts("custom"),
	}
	if f.err != nil {
		return storage.Annotation{}, fmt.Errorf("parse annotation %.100q: %w", b, f.err)
	}
	return a, nil
}

// long returns a number of 64 bits, without its fraction if it is not text.
func (f *fields) long(name string) int64 {
	s := strings.TrimSpace(f.scalar(name))
	if s == "" || s == "null" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return n
	}
	v, notNumber := strconv.ParseFloat(s, 64)
	if notNumber != nil || f.members[name][0] == '"' || math.Abs(v) >= math.MaxInt64 {
		f.fail(name, err)
		return 0
	}
	return int64(v)
}

// texts returns an object of scalars; nil for null and for what is missing.
func (f *fields) texts(name string) map[string]string {
	raw := f.members[name]
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	inner := parseFields(raw)
	texts := make(map[string]string, len(inner.members))
	for key := range inner.members {
		texts[key] = inner.scalar(key)
	}
	f.fail(name, inner.err)
	return texts
}

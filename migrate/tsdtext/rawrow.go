package tsdtext

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A RawCell is a cell of a row, as the table has it.
type RawCell struct{ Qualifier, Value []byte }

// AppendRawRow prints a row as a TSD's "tsdb scan" does: a line about its key, then each cell with its points. Bytes are
// those of Java, with a sign.
func AppendRawRow(b []byte, key schema.RowKey, whole []byte, s storage.Series, cells []RawCell) []byte {
	b = append(append(append(appendBytes(b, whole), ' '), s.Metric...), ' ')
	b = strconv.AppendUint(b, uint64(key.Base), 10)
	b = append(appendDate(append(b, " ("...), int64(key.Base)*1000), ") "...)
	b = append(append(b, putline.TagsText(s.Tags)...), '\n')
	for _, c := range cells {
		b = append(appendRawCell(append(b, "  "...), key.Base, c), '\n')
	}
	return b
}

func appendRawCell(b []byte, base uint32, c RawCell) []byte {
	var points []schema.Point
	var err error
	switch kind := schema.ClassifyCell(c.Qualifier); kind { //nolint:exhaustive // all others are no points
	case schema.CellData:
		points, err = schema.DecodeData(nil, c.Qualifier, c.Value)
	case schema.CellAppend:
		points, err = schema.DecodeAppend(nil, c.Value)
	case schema.CellAnnotation:
		return appendRawAnnotation(b, base, c)
	default:
		return append(appendBytes(b, c.Value), "\t[Not a data point]"...)
	}
	single := len(c.Qualifier) == 2 || len(c.Qualifier) == 4 && c.Qualifier[0]&0xF0 == 0xF0
	if err == nil && single && len(points) == 1 {
		return appendRawPoint(b, base, points[0], c.Qualifier, c.Value)
	}
	b = appendBytes(append(appendBytes(b, c.Qualifier), '\t'), c.Value)
	if err != nil {
		return append(append(append(b, "\t["...), err.Error()...), ']')
	}
	b = append(strconv.AppendInt(append(b, " = "...), int64(len(points)), 10), " values:"...)
	for _, p := range points {
		b = appendRawPoint(append(b, "\n    "...), base, p, p.AppendQualifier(nil), p.AppendValue(nil))
	}
	return b
}

// appendRawPoint prints qualifier, value, offset, whether it is an integer or a float, and the time, in the unit of the
// point.
func appendRawPoint(b []byte, base uint32, p schema.Point, qualifier, value []byte) []byte {
	b = append(appendBytes(append(appendBytes(b, qualifier), '\t'), value), '\t')
	unit := int64(1000)
	if p.Millis {
		unit = 1
	}
	kind := "\tf\t"
	if p.IsInt() {
		kind = "\tl\t"
	}
	at := schema.Time(base, p.Offset)
	b = append(strconv.AppendInt(b, int64(p.Offset)/unit, 10), kind...)
	b = append(strconv.AppendInt(b, at/unit, 10), "\t("...)
	return append(appendDate(b, at), ')')
}

// appendRawAnnotation prints qualifier, value, offset in seconds, the document and the time.
func appendRawAnnotation(b []byte, base uint32, c RawCell) []byte {
	b = append(appendBytes(append(appendBytes(b, c.Qualifier), '\t'), c.Value), '\t')
	offset := int64(0) // milliseconds
	switch rest := c.Qualifier[1:]; len(rest) {
	case 2:
		offset = int64(binary.BigEndian.Uint16(rest)) * 1000
	case 4:
		offset = int64(binary.BigEndian.Uint32(rest))
	}
	at := int64(base)*1000 + offset
	b = append(strconv.AppendInt(b, offset/1000, 10), '\t')
	b = append(append(b, bytes.ReplaceAll(c.Value, newline, []byte{' '})...), '\t')
	b = append(strconv.AppendInt(b, at/1000, 10), "\t("...)
	return append(appendDate(b, at), ')')
}

// appendBytes is java.util.Arrays.toString of bytes.
func appendBytes(b, list []byte) []byte {
	b = append(b, '[')
	for i, c := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, int64(int8(c)), 10)
	}
	return append(b, ']')
}

// appendDate is java.util.Date.toString, in UTC.
func appendDate(b []byte, millis int64) []byte {
	return time.UnixMilli(millis).UTC().AppendFormat(b, "Mon Jan 02 15:04:05 MST 2006")
}

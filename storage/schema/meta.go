package schema

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// CounterQualifier returns the column of tsdb-meta that marks a series: a counter of its points in
// 8 bytes, which OpenTSDB leaves at 1 when it only tracks. The time of the cell is the time of the
// last write.
func CounterQualifier() []byte { return []byte("ts_ctr") }

// MetaQualifier returns the column of tsdb-meta with the TSMeta document.
func MetaQualifier() []byte { return []byte(metaQualifier) }

const metaQualifier = "ts_meta"

// FormatTSUID returns the text of a TSUID or UID: upper-case hexadecimal.
func FormatTSUID(tsuid []byte) string {
	const digits = "0123456789ABCDEF"
	text := make([]byte, 0, 2*len(tsuid))
	for _, b := range tsuid {
		text = append(text, digits[b>>4], digits[b&0xF])
	}
	return string(text)
}

// UnhexTSUID reads the text of a TSUID or UID, in any case, as OpenTSDB's UniqueId.stringToUid does:
// a zero at its begin may be missing. Errors are in a TSD's words.
func UnhexTSUID(text string) ([]byte, error) {
	digits := text
	if len(digits)%2 != 0 {
		digits = "0" + digits
	}
	tsuid, err := hex.DecodeString(digits)
	if err != nil || text == "" {
		return nil, fmt.Errorf("contains illegal character for hexBinary: %.64s", text)
	}
	return tsuid, nil
}

// A TSMeta is the document of a series. A TSD edits it only if the stored bytes are those that it
// would print itself.
type TSMeta struct {
	TSUID                           string
	DisplayName, Description, Notes string
	Created                         int64 // seconds
	Custom                          Custom
	Units, DataType                 string
	Retention                       int     // days; 0 is forever
	Max, Min                        float64 // NaN is unknown
	Unknown                         []Field // in addition, as they were read
}

// A Field is a field of a document that OpenTSDB does not have.
type Field struct{ Name, JSON string }

// NewTSMeta returns the document that a TSD writes for a new series.
func NewTSMeta(tsuid []byte, created int64) TSMeta {
	return TSMeta{TSUID: FormatTSUID(tsuid), Created: created, Max: math.NaN(), Min: math.NaN()}
}

// The document of a new series, around its TSUID and its time.
const (
	newTSMetaBegin  = `{"tsuid":"`
	newTSMetaMiddle = `","displayName":"","description":"","notes":"","created":`
	newTSMetaEnd    = `,"custom":null,"units":"","dataType":"","retention":0,"max":"NaN","min":"NaN"}`
)

// NewTSMetaSize bounds the length of the document that AppendNewTSMeta appends.
func NewTSMetaSize(tsuid []byte) int {
	return len(newTSMetaBegin) + 2*len(tsuid) + len(newTSMetaMiddle) + 20 + len(newTSMetaEnd)
}

// AppendNewTSMeta is NewTSMeta(tsuid, created).AppendTo(dst), but fast: series come by the million.
func AppendNewTSMeta(dst, tsuid []byte, created int64) []byte {
	dst = append(dst, newTSMetaBegin...)
	dst = appendHex(dst, tsuid)
	dst = strconv.AppendInt(append(dst, newTSMetaMiddle...), created, 10)
	return append(dst, newTSMetaEnd...)
}

// CutNewTSMeta returns the digits of the TSUID and of the time of a document that AppendNewTSMeta may
// have made: the digits may be anything.
func CutNewTSMeta(document []byte) (tsuid, created []byte, ok bool) {
	rest, ok := bytes.CutPrefix(document, []byte(newTSMetaBegin))
	if !ok {
		return nil, nil, false
	}
	tsuid, rest, ok = bytes.Cut(rest, []byte(newTSMetaMiddle))
	if !ok {
		return nil, nil, false
	}
	created, ok = bytes.CutSuffix(rest, []byte(newTSMetaEnd))
	return tsuid, created, ok
}

const hexDigits = "0123456789ABCDEF"

func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}

// AppendTo appends the document as OpenTSDB 2.4 TSMeta.getStorageJSON prints it, and what is unknown
// after that.
func (m TSMeta) AppendTo(dst []byte) []byte {
	dst = appendField(dst, `{"tsuid":`, m.TSUID)
	dst = appendField(dst, `,"displayName":`, m.DisplayName)
	dst = appendField(dst, `,"description":`, m.Description)
	dst = appendField(dst, `,"notes":`, m.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), m.Created, 10)
	dst = m.Custom.AppendTo(append(dst, `,"custom":`...))
	dst = appendField(dst, `,"units":`, m.Units)
	dst = appendField(dst, `,"dataType":`, m.DataType)
	dst = strconv.AppendInt(append(dst, `,"retention":`...), int64(m.Retention), 10)
	dst = appendDouble(append(dst, `,"max":`...), m.Max)
	dst = appendDouble(append(dst, `,"min":`...), m.Min)
	return append(appendUnknown(dst, m.Unknown), '}')
}

// ParseTSMeta reads a document as Jackson does: numbers may be text, and text may be a number or a
// boolean.
func ParseTSMeta(b []byte) (TSMeta, error) {
	members, err := parseMembers(b)
	f := fieldsOf(members, err)
	m := TSMeta{
		TSUID: f.scalar("tsuid"), DisplayName: f.scalar("displayName"), Description: f.scalar("description"), Notes: f.scalar("notes"),
		Created: f.long("created"), Custom: f.custom(), Units: f.scalar("units"), DataType: f.scalar("dataType"),
		Retention: f.int("retention"), Max: f.double("max"), Min: f.double("min"),
	}
	if f.err != nil {
		return TSMeta{}, fmt.Errorf("parse TSMeta %.100q: %w", b, f.err)
	}
	m.Unknown = unknownFields(members, "tsuid", "displayName", "description", "notes", "created", "custom", "units", "dataType", "retention", "max", "min")
	return m, nil
}

// A UIDMeta is the document of a UID. The UID and its name are not in it. A TSD edits it if the
// stored bytes are those that it read, so their order is free.
type UIDMeta struct {
	Type                            string // METRIC, TAGK or TAGV
	DisplayName, Description, Notes string
	Created                         int64 // seconds
	Custom                          Custom
	Unknown                         []Field // in addition, as they were read
}

// AppendTo appends the document as OpenTSDB 2.4 UIDMeta.getStorageJSON prints it, and what is unknown
// after that.
func (m UIDMeta) AppendTo(dst []byte) []byte {
	dst = appendField(dst, `{"type":`, m.Type)
	dst = appendField(dst, `,"displayName":`, m.DisplayName)
	dst = appendField(dst, `,"description":`, m.Description)
	dst = appendField(dst, `,"notes":`, m.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), m.Created, 10)
	dst = m.Custom.AppendTo(append(dst, `,"custom":`...))
	return append(appendUnknown(dst, m.Unknown), '}')
}

// ParseUIDMeta reads a document as ParseTSMeta does.
func ParseUIDMeta(b []byte) (UIDMeta, error) {
	members, err := parseMembers(b)
	f := fieldsOf(members, err)
	m := UIDMeta{
		Type: f.scalar("type"), DisplayName: f.scalar("displayName"), Description: f.scalar("description"), Notes: f.scalar("notes"),
		Created: f.long("created"), Custom: f.custom(),
	}
	if f.err != nil {
		return UIDMeta{}, fmt.Errorf("parse UIDMeta %.100q: %w", b, f.err)
	}
	m.Unknown = unknownFields(members, "type", "displayName", "description", "notes", "created", "custom")
	return m, nil
}

// int is long for Java's int.
func (f *fields) int(name string) int {
	n := f.long(name)
	if n != int64(int32(n)) {
		f.fail(name, fmt.Errorf("%d is no number of 32 bits", n))
	}
	return int(n)
}

// double returns a number, NaN without one. null is 0, as for Jackson.
func (f *fields) double(name string) float64 {
	raw := f.members[name]
	if len(raw) == 0 {
		return math.NaN()
	}
	var d double
	f.fail(name, json.Unmarshal(raw, &d))
	return float64(d)
}

// unknownFields returns the fields but for those of these names; of several of one name the last.
func unknownFields(members []member, known ...string) (unknown []Field) {
	seen := make(map[string]bool, len(members))
	for _, name := range known {
		seen[name] = true
	}
	for _, m := range slices.Backward(members) {
		if !seen[m.name] {
			seen[m.name] = true
			unknown = append(unknown, Field{m.name, string(m.raw)})
		}
	}
	slices.Reverse(unknown)
	return unknown
}

func appendUnknown(dst []byte, unknown []Field) []byte {
	for _, u := range unknown {
		dst = append(append(appendString(append(dst, ','), u.Name), ':'), u.JSON...)
	}
	return dst
}

package schema

import (
	"encoding/json"
	"fmt"
	"math"
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
func FormatTSUID(tsuid []byte) string { return fmt.Sprintf("%X", tsuid) }

// A TSMeta is the document of a series. A TSD edits it only if the stored bytes are those that it
// would print itself.
type TSMeta struct {
	TSUID                           string
	DisplayName, Description, Notes string
	Created                         int64             // seconds
	Custom                          map[string]string // nil is null
	Units, DataType                 string
	Retention                       int     // days; 0 is forever
	Max, Min                        float64 // NaN is unknown
}

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

const hexDigits = "0123456789ABCDEF"

func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}

// AppendTo appends the document as OpenTSDB 2.4 TSMeta.getStorageJSON prints it.
func (m TSMeta) AppendTo(dst []byte) []byte {
	dst = appendField(dst, `{"tsuid":`, m.TSUID)
	dst = appendField(dst, `,"displayName":`, m.DisplayName)
	dst = appendField(dst, `,"description":`, m.Description)
	dst = appendField(dst, `,"notes":`, m.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), m.Created, 10)
	dst = appendMap(append(dst, `,"custom":`...), m.Custom)
	dst = appendField(dst, `,"units":`, m.Units)
	dst = appendField(dst, `,"dataType":`, m.DataType)
	dst = strconv.AppendInt(append(dst, `,"retention":`...), int64(m.Retention), 10)
	dst = appendDouble(append(dst, `,"max":`...), m.Max)
	dst = appendDouble(append(dst, `,"min":`...), m.Min)
	return append(dst, '}')
}

// ParseTSMeta reads a stored document. Fields that it does not know are left out.
func ParseTSMeta(b []byte) (TSMeta, error) {
	var d struct {
		TSUID                           string
		DisplayName, Description, Notes string
		Created                         int64
		Custom                          map[string]string
		Units, DataType                 string
		Retention                       int
		Max, Min                        double
	}
	d.Max, d.Min = double(math.NaN()), double(math.NaN())
	if err := json.Unmarshal(b, &d); err != nil {
		return TSMeta{}, fmt.Errorf("parse TSMeta %.100q: %w", b, err)
	}
	return TSMeta{
		TSUID: d.TSUID, DisplayName: d.DisplayName, Description: d.Description, Notes: d.Notes,
		Created: d.Created, Custom: d.Custom, Units: d.Units, DataType: d.DataType,
		Retention: d.Retention, Max: float64(d.Max), Min: float64(d.Min),
	}, nil
}

// A UIDMeta is the document of a UID. The UID and its name are not in it. A TSD edits it if the
// stored bytes are those that it read, so their order is free.
type UIDMeta struct {
	Type                            string // METRIC, TAGK or TAGV
	DisplayName, Description, Notes string
	Created                         int64             // seconds
	Custom                          map[string]string // nil is null
}

// AppendTo appends the document as OpenTSDB 2.4 UIDMeta.getStorageJSON prints it, except for the
// order within Custom: a TSD's is that of a Java HashMap, ours ascends.
func (m UIDMeta) AppendTo(dst []byte) []byte {
	dst = appendField(dst, `{"type":`, m.Type)
	dst = appendField(dst, `,"displayName":`, m.DisplayName)
	dst = appendField(dst, `,"description":`, m.Description)
	dst = appendField(dst, `,"notes":`, m.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), m.Created, 10)
	dst = appendMap(append(dst, `,"custom":`...), m.Custom)
	return append(dst, '}')
}

// ParseUIDMeta reads a stored document. Fields that it does not know are left out.
func ParseUIDMeta(b []byte) (UIDMeta, error) {
	var m UIDMeta
	if err := json.Unmarshal(b, &m); err != nil {
		return UIDMeta{}, fmt.Errorf("parse UIDMeta %.100q: %w", b, err)
	}
	return m, nil
}

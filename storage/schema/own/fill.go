package own

import (
	"bytes"
	"encoding/binary"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// What the job that fills rollup tables keeps lies in tsdb-tree, as Lease does: its state in one row, and the hours whose points have
// changed late, in rows of a generation and an hour.
const (
	fillStateKey   = "\x00\x00tsdbridge.rollups:state"
	fillLatePrefix = "\x00\x00tsdbridge.rollups:late:"
	// FillQualifier is the column of the state.
	FillQualifier = "tsdbridge.rollups"
)

// FillStateKey is the row of the state.
func FillStateKey() []byte { return []byte(fillStateKey) }

// FillLateKey is the row of the hour that begins at base (seconds), in a generation.
func FillLateKey(generation uint64, base uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte(fillLatePrefix), generation), base)
}

// FillLate returns the first key of all generations, and the first key after those up to one.
func FillLate(generation uint64) (start, stop []byte) {
	return []byte(fillLatePrefix), schema.Successor(binary.BigEndian.AppendUint64([]byte(fillLatePrefix), generation))
}

// ParseFillLateKey returns what FillLateKey was made of.
func ParseFillLateKey(key []byte) (generation uint64, base uint32, ok bool) {
	rest, ok := bytes.CutPrefix(key, []byte(fillLatePrefix))
	if !ok || len(rest) != 12 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(rest), binary.BigEndian.Uint32(rest[8:]), true
}

// The columns of a row of an hour: all points may have changed, or those of a metric, or of a series.
const (
	lateAll    = 'a'
	lateMetric = 'm'
	lateSeries = 's'
)

// FillLateQualifier returns the column of a metric's UID, of a series' TSUID, or, if both are empty, of all.
func FillLateQualifier(metric, tsuid string) []byte {
	switch {
	case tsuid != "":
		return append([]byte{lateSeries}, tsuid...)
	case metric != "":
		return append([]byte{lateMetric}, metric...)
	}
	return []byte{lateAll}
}

// ParseFillLateQualifier returns what FillLateQualifier was made of.
func ParseFillLateQualifier(q []byte) (metric, tsuid string, ok bool) {
	switch {
	case len(q) == 1 && q[0] == lateAll:
		return "", "", true
	case len(q) > 1 && q[0] == lateMetric:
		return string(q[1:]), "", true
	case len(q) > 1 && q[0] == lateSeries:
		return "", string(q[1:]), true
	}
	return "", "", false
}

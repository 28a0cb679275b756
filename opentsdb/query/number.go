package query

import "github.com/tsdbridge/tsdbridge/opentsdb/java"

// AppendDouble prints a float as Java does: 42.0, 1.0E10, 1.0E-5; in quotes what is no number or infinite.
func AppendDouble(b []byte, v float64) []byte {
	if v-v != 0 {
		return append(java.AppendFloat(append(b, '"'), v, 64), '"')
	}
	return java.AppendFloat(b, v, 64)
}

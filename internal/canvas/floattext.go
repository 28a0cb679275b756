package canvas

import (
	"strconv"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// AppendFloat appends the shortest text of a finite number.
func AppendFloat(out []byte, v float64) []byte {
	if text, ok := decimal.Append(out, v); ok {
		return text
	}
	return strconv.AppendFloat(out, v, 'g', -1, 64)
}

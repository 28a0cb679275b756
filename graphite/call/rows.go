package call

import (
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// rows returns the values of several series slot by slot: columns of equal length, short ones
// filled with null.
func rows(list []*series.Series) (columns [][]float64, length int, err error) {
	columns = make([][]float64, len(list))
	for i, s := range list {
		if columns[i], err = s.Iteration(); err != nil {
			return nil, 0, err
		}
		length = max(length, len(columns[i]))
	}
	return columns, length, nil
}

// PerRow computes one value from each slot of several series.
func (c *Call) PerRow(list []*series.Series, f func(row []float64) float64) ([]float64, error) {
	columns, length, err := rows(list)
	if err != nil {
		return nil, err
	}
	out, row := make([]float64, length), make([]float64, len(list))
	for i := range out {
		if !c.Tick(len(row)) {
			return nil, c.Err
		}
		for j, c := range columns {
			row[j] = python.None()
			if i < len(c) {
				row[j] = c[i]
			}
		}
		out[i] = f(row)
	}
	return out, nil
}

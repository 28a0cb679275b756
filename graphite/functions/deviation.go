package functions

import (
	"math"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// deviationFamily is stdev alone.
func deviationFamily() []call.Function {
	return []call.Function{{
		Name: "stdev", Group: "Calculate", Signature: "seriesList, points, windowTolerance=0.1", Call: perSeries(stdev),
		Doc: "Draws the standard deviation of the last points, null where more than a part of them is missing.",
		Params: []call.Param{
			seriesParam("seriesList"), need("points", call.TypeInteger), with("windowTolerance", call.TypeFloat, 0.1),
		},
	}}
}

func stdev(c *call.Call) ([]*series.Series, error) {
	list, points, tolerance := c.Series("seriesList"), c.Integer("points"), c.Float("windowTolerance")
	if c.Err != nil {
		return nil, nil
	}
	out := make([]*series.Series, len(list))
	for i, s := range list {
		s.Tags["stdev"] = python.Text(c.Value("points"))
		values, err := runningDeviation(s.Values, points, tolerance)
		if err != nil {
			return nil, err
		}
		out[i] = s.Derive("stdev("+s.Name+","+python.Text(points)+")", values)
	}
	return out, nil
}

// runningDeviation keeps sums of values and squares, adding the newest and taking off the oldest,
// with the errors that this brings; where they make the variance negative the result is null.
func runningDeviation(values []float64, points int64, tolerance float64) ([]float64, error) {
	out := make([]float64, len(values))
	var valid, total, squares float64
	for i, v := range values {
		if int64(i) >= points {
			dropped, ok := python.Item(values, int64(i)-points)
			if !ok {
				return nil, python.Crash("list index out of range")
			}
			if !python.IsNone(dropped) {
				sq, err := series.Square(dropped)
				if err != nil {
					return nil, err
				}
				valid, total, squares = valid-1, total-dropped, squares-sq
			}
		}
		if !python.IsNone(v) {
			sq, err := series.Square(v)
			if err != nil {
				return nil, err
			}
			valid, total, squares = valid+1, total+v, squares+sq
		}
		d, err := windowDeviation(valid, total, squares, points, tolerance)
		if err != nil {
			return nil, err
		}
		out[i] = d
	}
	return out, nil
}

func windowDeviation(valid, total, squares float64, points int64, tolerance float64) (float64, error) {
	if valid <= 0 {
		return python.None(), nil
	}
	if points == 0 {
		return 0, python.Crash("float division by zero")
	}
	if valid/float64(points) < tolerance {
		return python.None(), nil
	}
	sq, err := series.Square(total)
	if err != nil {
		return 0, err
	}
	variance := float64(valid*squares) - sq
	if variance < 0 {
		return python.None(), nil
	}
	return math.Sqrt(variance) / valid, nil
}

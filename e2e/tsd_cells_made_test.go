package e2e_test

import (
	"github.com/prometheus/prometheus/prompb"
)

const hourMillis = 3_600_000

// cellUnits returns the times of a cell's points from its first on, in milliseconds: as seconds, as
// milliseconds, and both.
func cellUnits() []func(start int64, i int) int64 {
	return []func(start int64, i int) int64{
		func(start int64, i int) int64 { return start + int64(i)*10_000 },
		func(start int64, i int) int64 { return start + int64(i)*9_999 + int64(i%2*250) },
		func(start int64, i int) int64 { return start + int64(i)*10_000 + int64(i%2*250) },
	}
}

// cellValues returns the values of a cell's points: integers of 1, 2 and 4 bytes, whole numbers
// that need more, floats of 4 and 8, and all of them in turn.
func cellValues() []func(i int) float64 {
	kinds := []func(i int) float64{
		func(i int) float64 { return float64(i % 100) },
		func(i int) float64 { return float64(-300 - i) },
		func(i int) float64 { return float64(70_000 + i) },
		func(i int) float64 { return 5e9 + float64(i) },
		func(i int) float64 { return float64(i) + 0.5 },
		func(i int) float64 { return float64(i) + 0.1 },
	}
	return append(kinds, func(i int) float64 { return kinds[(i+5)%6](i) })
}

// cellOf returns n points from a millisecond of the hour on, fewer at its end.
func cellOf(n int, start int64, unit func(int64, int) int64, value func(int) float64) (points []prompb.Sample) {
	for i := range n {
		if at := unit(start, i); at < hourMillis {
			points = append(points, prompb.Sample{Timestamp: at, Value: value(i)})
		}
	}
	return points
}

// twosAndThrees returns cells of two or three points that begin at every second, with each kind of
// value and unit in turn.
func twosAndThrees() (rows [][]prompb.Sample) {
	units, values := cellUnits(), cellValues()
	for second := range int64(3600) {
		rows = append(rows, cellOf(2+int(second%2), second*1000, units[second/14%3], values[second/2%7]))
	}
	return rows
}

// everyKindOfCell returns cells of every kind that begin where first bytes change, at all seconds
// of 05 and at every first byte of milliseconds.
func everyKindOfCell() (rows [][]prompb.Sample) {
	starts := []int64{0, 16_000, 79_000, 96_000, 0x82 << 4 * 1000, 3583_000}
	for second := int64(80); second < 96; second++ {
		starts = append(starts, second*1000)
	}
	// 14 bits of milliseconds follow those of the first byte
	for start := int64(0); start < hourMillis; start += 1 << 18 {
		starts = append(starts, start+1-start%2)
	}
	values := cellValues()
	for k, start := range starts {
		for _, unit := range cellUnits() {
			for _, value := range values {
				rows = append(rows, cellOf(2, start, unit, value), cellOf(3, start, unit, value))
			}
			rows = append(rows, cellOf(240, start, unit, values[k%7]))
		}
	}
	return rows
}

// singlePoints returns a cell of one point at every second, and at every first byte of
// milliseconds.
func singlePoints() (rows [][]prompb.Sample) {
	units, values := cellUnits(), cellValues()
	for second := range int64(3600) {
		rows = append(rows, cellOf(1, second*1000, units[0], values[second%7]))
	}
	for start := int64(1); start < hourMillis; start += 1 << 18 {
		rows = append(rows, cellOf(1, start, units[0], values[start%7]))
	}
	return rows
}

// firstHalves begins rows around seconds 80 to 95 with a cell of two points, secondHalves puts
// another one after each.
func firstHalves() [][]prompb.Sample  { return halves(0) }
func secondHalves() [][]prompb.Sample { return halves(100_000) }

func halves(later int64) (rows [][]prompb.Sample) {
	for second := int64(78); second < 98; second++ {
		for k, unit := range cellUnits() {
			rows = append(rows, cellOf(2, second*1000+later, unit, cellValues()[(second+int64(k))%7]))
		}
	}
	return rows
}

// longIntegers begins rows of integers of 8 bytes around seconds 80 to 95. Their rows contain
// nothing else: fsck --fix-all deletes those that stand next to other points, in a TSD's cells as
// in ours.
func longIntegers() (rows [][]prompb.Sample) {
	for second := int64(78); second < 98; second++ {
		rows = append(rows, cellOf(3, second*1000, cellUnits()[second%3], func(i int) float64 { return 5e9 + float64(i) }))
	}
	return rows
}

package rangeql

// A grid is the instants at which an expression is evaluated, in milliseconds: its steps.
type grid struct {
	start, interval int64
	steps           int
	// until is the end that was asked for, which need not be a step.
	until int64
}

// newGrid returns the instants from start to end, which may be none.
func newGrid(start, end, interval int64) grid {
	if end < start {
		return grid{start, interval, 0, end}
	}
	return grid{start, interval, int((end-start)/interval) + 1, end}
}

// time returns the instant of a step.
func (g grid) time(step int) int64 { return g.start + int64(step)*g.interval }

// end returns the last instant.
func (g grid) end() int64 { return g.time(g.steps - 1) }

// single is the first instant alone.
func (g grid) single() grid { return grid{g.start, g.interval, 1, g.start} }

// isRange reports whether more than one instant was asked for, even if there is only one step.
func (g grid) isRange() bool { return g.until != g.start }

// commonDivisor returns the greatest common divisor of two numbers.
func commonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

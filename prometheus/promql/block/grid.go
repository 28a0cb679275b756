package block

// A Grid is the instants at which an expression is evaluated, in milliseconds: its steps.
type Grid struct {
	Start, Interval int64
	Steps           int
	// Until is the end that was asked for, which need not be a step.
	Until int64
}

// NewGrid returns the instants from start to end, which may be none.
func NewGrid(start, end, interval int64) Grid {
	if end < start {
		return Grid{start, interval, 0, end}
	}
	return Grid{start, interval, int((end-start)/interval) + 1, end}
}

// Time returns the instant of a step.
func (g Grid) Time(step int) int64 { return g.Start + int64(step)*g.Interval }

// End returns the last instant.
func (g Grid) End() int64 { return g.Time(g.Steps - 1) }

// Single is the first instant alone.
func (g Grid) Single() Grid { return Grid{g.Start, g.Interval, 1, g.Start} }

// IsRange reports whether more than one instant was asked for, even if there is only one step.
func (g Grid) IsRange() bool { return g.Until != g.Start }

// CommonDivisor returns the greatest common divisor of two numbers.
func CommonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

package resultcache

// A grid is the steps of a range query: times in milliseconds, from the first to the last.
type grid struct{ first, last, step int64 }

// steps returns how many steps there are.
func (g grid) steps() int { return int((g.last-g.first)/g.step) + 1 }

// time returns the time of a step.
func (g grid) time(i int) int64 { return g.first + int64(i)*g.step }

// atLeast returns the first step at a time or later, on the grid without its ends.
func (g grid) atLeast(t int64) int64 {
	if t <= g.first {
		return g.first
	}
	return g.first + (t-g.first+g.step-1)/g.step*g.step
}

package rangefn

// uniform are the ranges of steps among samples at uniform distances that divide the distance of the
// steps: all ranges within the samples have the same size.
type uniform struct {
	first, next int // samples in the range of the first step, as if the samples went on for ever
	stride      int // samples from a step to the next
	size        int // of a range
}

// uniform returns the ranges among the samples that were looked at.
func (e *Evaluator) uniform(times []int64) uniform {
	start, end := e.Window(0)
	w := uniform{
		first:  countUntil(start-times[0], e.distance),
		next:   countUntil(end-times[0], e.distance),
		stride: int(e.Grid.Interval / e.distance),
	}
	w.size = w.next - w.first
	return w
}

// at returns the range of a step, which may begin before the samples and end after them.
func (w uniform) at(step int) (first, next int) {
	return w.first + step*w.stride, w.next + step*w.stride
}

// inside returns how many of the next steps, at most, have ranges that are within n samples.
func (w uniform) inside(step, most, n int) int {
	first, next := w.at(step)
	switch {
	case first < 0 || next > n:
		return 0
	case most < 2: // the stride of a single step may be 0
		return most
	}
	return min(most, (n-next)/w.stride+1)
}

// place returns where the range of a step is among n samples.
func (w uniform) place(step, n int) place {
	first, next := w.at(step)
	p := place{first: within(first, n)}
	if step > 0 {
		p.next = within(next-w.stride, n) // seen by the step before
	}
	return p
}

// countUntil returns how many of the times 0, distance, 2 distance... are not after t. It is
// negative for what is missing before 0.
func countUntil(t, distance int64) int {
	if t < 0 {
		return -int((-t - 1) / distance)
	}
	return int(t/distance) + 1
}

func within(i, n int) int { return min(max(i, 0), n) }

package rangeql

// evenRise is rate or increase of a counter that never falls, with samples at even distances that
// divide the distance of the steps: all ranges within the samples are stretched alike.
func (e *evaluator) evenRise(times []int64, values []float64, out []float64) int {
	start, end := e.window(0)
	// The ranges as if the samples went on for ever.
	first, next := countUntil(start-times[0], e.distance), countUntil(end-times[0], e.distance)
	stride := int(e.grid.interval / e.distance)
	size := next - first
	found, factor := 0, 0.0
	s := &e.span
	for step := 0; step < len(out); step, first, next = step+1, first+stride, next+stride {
		if first >= 0 && next <= len(values) && size > 1 && s.stretch.samples == size {
			rise := values[next-1] - values[first]
			// A greater value before than the rise since needs no look at zero.
			if values[first] >= rise && s.stretch.toStart <= s.stretch.length {
				out[step] = rise * factor
				e.sees(size, min(size, stride))
				found++
				continue
			}
		}
		out[step] = absent
		p := place{first: within(first, len(values))}
		if step > 0 {
			p.next = within(next-stride, len(values)) // seen by the step before
		}
		if f, ok := e.at(step, times, values, &p); ok {
			out[step] = f
			found++
		}
		if factor = s.stretch.factor; e.function.rise == perSecond {
			factor = s.stretch.rate
		}
		if e.visited > visitsPerLook {
			if e.visited = 0; e.ended() {
				return found // the result is not used
			}
		}
	}
	return found
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

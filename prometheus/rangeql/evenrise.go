package rangeql

// evenRise is rate or increase of a counter that never falls, with even samples: all ranges within
// the samples are stretched alike.
func (e *evaluator) evenRise(times []int64, values []float64, out []float64) int {
	w := e.even(times)
	found, factor := 0, 0.0
	s := &e.span
	for step := range out {
		first, next := w.at(step)
		if first >= 0 && next <= len(values) && w.size > 1 && s.stretch.samples == w.size {
			rise := values[next-1] - values[first]
			// A greater value before than the rise since needs no look at zero.
			if values[first] >= rise && s.stretch.toStart <= s.stretch.length {
				out[step] = rise * factor
				e.sees(w.size, min(w.size, w.stride))
				found++
				continue
			}
		}
		p := w.place(step, len(values))
		out[step] = absent
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

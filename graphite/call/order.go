package call

import "slices"

// RunLength is how many values are sorted between two looks at the request.
const RunLength = 1 << 15

// Order sorts a list, with looks at the request in between. It reports whether to continue; if not, the list
// is in no order.
func Order[T any](c *Call, list []T, compare func(a, b T) int) bool {
	for run := range slices.Chunk(list, RunLength) {
		slices.SortFunc(run, compare)
		if !c.Tick(16 * len(run)) {
			return false
		}
	}
	if len(list) <= RunLength {
		return true
	}
	from, to := list, make([]T, len(list))
	for length := RunLength; length < len(list); length *= 2 {
		for begin := 0; begin < len(list); begin += 2 * length {
			middle, end := min(begin+length, len(list)), min(begin+2*length, len(list))
			if !merge(c, to[begin:end], from[begin:middle], from[middle:end], compare) {
				return false
			}
		}
		from, to = to, from
	}
	copy(list, from) // which may be the list
	return true
}

// merge puts two sorted lists together.
func merge[T any](c *Call, out, a, b []T, compare func(a, b T) int) bool {
	for i := range out {
		if i%RunLength == 0 && !c.Tick(RunLength) {
			return false
		}
		if len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) <= 0 {
			out[i], a = a[0], a[1:]
		} else {
			out[i], b = b[0], b[1:]
		}
	}
	return true
}

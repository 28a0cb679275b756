package read

// slots is memory for the columns of many series, handed out piece by piece.
type slots struct {
	chunks []samples
	chunk  int // the one at hand
	used   int // of it
}

type samples struct {
	times  []int64
	values []float64
}

const (
	slotChunk = 16 << 10 // points
	// maxSlots is how many points a reader keeps the memory of.
	maxSlots = 2 * groupSamples
)

// reset takes all memory back.
func (s *slots) reset() {
	kept := 0
	for i, c := range s.chunks {
		if kept += len(c.times); kept > maxSlots {
			clear(s.chunks[i:])
			s.chunks = s.chunks[:i]
			break
		}
	}
	s.chunk, s.used = 0, 0
}

// take gives empty columns with room for n points.
func (s *slots) take(n int) ([]int64, []float64) {
	for s.chunk < len(s.chunks) && len(s.chunks[s.chunk].times)-s.used < n {
		s.chunk, s.used = s.chunk+1, 0
	}
	if s.chunk == len(s.chunks) {
		size := max(n, slotChunk)
		s.chunks = append(s.chunks, samples{make([]int64, size), make([]float64, size)})
	}
	c, at := s.chunks[s.chunk], s.used
	s.used += n
	return c.times[at:at:s.used], c.values[at:at:s.used]
}

// giveBack shortens the last piece by n points that were not used. A series that grew out of its
// piece left it.
func (s *slots) giveBack(n int) {
	if n > 0 {
		s.used -= n
	}
}

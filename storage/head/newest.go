package head

import "math"

// Newest returns the newest sample of a series from start to end (milliseconds, inclusive), if that
// is the last point of a stream: without a copy of rows and without decoding any. It returns false
// if there is none, if later samples or objects are in the way, or if they may be. Read then tells
// what there is.
func (h *Head) Newest(id uint32, start, end int64) (time int64, value float64, ok bool) {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest *openRow
	for _, r := range s.chain(id) {
		switch {
		case !r.overlaps(start, end) || newest != nil && r.base < newest.base:
		case newest != nil && r.base == newest.base:
			return 0, 0, false // one of them is handed out
		default:
			newest = r
		}
	}
	if newest == nil || newest.side != 0 || newest.count == 0 {
		return 0, 0, false
	}
	time = newest.begin() + int64(newest.last)
	return time, math.Float64frombits(newest.bits), time >= start && time <= end
}

package kv

import "bytes"

// SplitAt cuts a scan at keys, which ascend; those outside of its range are left out. Engines make
// the answer of Splitter with it, from places that they know.
func SplitAt(s Scan, keys [][]byte) []Scan {
	if s.Limit > 0 {
		return []Scan{s}
	}
	var parts []Scan
	for _, key := range keys {
		if bytes.Compare(key, s.Start) <= 0 || len(s.Stop) > 0 && bytes.Compare(key, s.Stop) >= 0 {
			continue
		}
		part := s
		part.Stop = key
		parts = append(parts, part)
		s.Start = key
	}
	return append(parts, s)
}

// EvenCuts chooses from m places, which divide a range into pieces of equal size, those that cut it
// into at most n parts: it returns their indices.
func EvenCuts(m, n int) []int {
	var cuts []int
	for part := 1; part < n; part++ {
		// m places make m+1 pieces; a cut at place i has i+1 of them before it.
		at := part*(m+1)/n - 1
		if at >= 0 && (len(cuts) == 0 || cuts[len(cuts)-1] != at) {
			cuts = append(cuts, at)
		}
	}
	return cuts
}

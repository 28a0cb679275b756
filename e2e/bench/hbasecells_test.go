package main

import (
	"encoding/hex"
	"testing"
)

// The points of a cell are counted from its qualifier.
func TestPointsOf(t *testing.T) {
	for _, test := range []struct {
		qualifier, what string
		want            int
	}{
		{"0003", "a second", 1},
		{"f0000fc3", "a millisecond", 1},
		{"00030013f0000fc30023", "compacted, mixed", 4},
		{"820000", "objects", 0},
		{"8200000000", "objects at a millisecond", 0},
		{"010000", "an annotation", 0},
	} {
		raw, err := hex.DecodeString(test.qualifier)
		if err != nil {
			t.Fatal(err)
		}
		if got := pointsOf(raw); got != test.want {
			t.Errorf("%s (%s): %d points, want %d", test.qualifier, test.what, got, test.want)
		}
	}
}

package opentsdb

import "testing"

// TestBadLimits: a list that cannot be meant is refused.
func TestBadLimits(t *testing.T) {
	for _, bad := range []string{`{`, `[{"regex":"("}]`, `[{"dataPointsLimit":1}]`, `[{"regex":"a","dataPointsLimit":-1}]`} {
		if _, err := parseLimits([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

package flagvalue

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "36h": 36 * time.Hour, "90d": 90 * day, "2w": 14 * day, "1y": 365 * day, "1y6w": 407 * day, "1d12h": 36 * time.Hour,
	} {
		var a, again Age
		if err := a.Set(text); err != nil || time.Duration(a) != want {
			t.Errorf("Set(%q) = %v, %v; want %v", text, time.Duration(a), err, want)
		}
		if err := again.Set(a.String()); err != nil || again != a {
			t.Errorf("%q prints as %q, which is %v, %v", text, a.String(), time.Duration(again), err)
		}
	}
	for _, text := range []string{"", "-1d", "1.5d", "7", "d", "1h1d", "300000y", "for ever"} {
		if err := new(Age).Set(text); err == nil {
			t.Errorf("Set(%q): no error", text)
		}
	}
}

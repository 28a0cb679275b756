package lookback

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	rules, err := Parse([]string{`carbon\..*=step`, `a=b=10m`, `tsd\..*=1h`, `5m`})
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]time.Duration{"carbon.x": 0, "xcarbon.x": 5 * time.Minute, "a=b": 10 * time.Minute, "tsd.y": time.Hour, "": 5 * time.Minute} {
		if r, ok := rules.of(metric); !ok || r.span != want {
			t.Errorf("%q: %v, %v", metric, r.span, ok)
		}
	}
	if _, ok := rules[:1].of("up"); ok {
		t.Error("a rule for others matches")
	}
	for bad, word := range map[string]string{"": "duration", "x": "duration", "(=step": "missing", "x=": "duration", "0s": "above 0", "3d": "at most", "a=steps": "duration"} {
		if _, err := Parse([]string{bad}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := Parse(make([]string, mostRules+1)); err == nil {
		t.Error("any number of rules")
	}
}

func TestOfStep(t *testing.T) {
	base := 5 * time.Minute
	for step, want := range map[time.Duration]time.Duration{
		time.Second: base, 2 * time.Minute: base, 5 * time.Minute: 10 * time.Minute, 100 * time.Hour: Most,
	} {
		if got := ofStep(step, base); got != want {
			t.Errorf("%v: %v, want %v", step, got, want)
		}
	}
	if got := ofStep(time.Hour, 72*time.Hour); got != 72*time.Hour {
		t.Error(got)
	}
}

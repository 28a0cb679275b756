package scale_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

func TestOf(t *testing.T) {
	t.Setenv(scale.Env, "")
	want := 2
	if testing.Short() {
		want = 1
	}
	if got := scale.Of(t, "things", 1, 2, 3); got != want {
		t.Errorf("without %s: %d, want %d", scale.Env, got, want)
	}
	t.Setenv(scale.Env, "1")
	if got := scale.Of(t, "things", 1, 2, 3); got != 3 || !scale.Full() {
		t.Errorf("with %s: %d, want 3", scale.Env, got)
	}
}

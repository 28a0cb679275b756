package adapter

import (
	"runtime/debug"
	"testing"
)

// The revision comes from the repository of the build, or from the version that go install was asked for.
func TestRevision(t *testing.T) {
	for version, want := range map[string]string{
		"(devel)": "", "v0.2.0": "", "v0.0.0-20261125091500-0123456789ab": "0123456789ab", "v0.1.1-0.20261125091500-0123456789ab": "0123456789ab",
	} {
		if got := revisionOf(&debug.BuildInfo{Main: debug.Module{Version: version}}); got != want {
			t.Errorf("%s: revision %q, want %q", version, got, want)
		}
	}
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "ba"}}}
	if got := revisionOf(info); got != "ba" {
		t.Errorf("revision %q, want that of the repository", got)
	}
}

package adapter

import "runtime/debug"

// release is the version of this source.
const release = "0.1.0"

// Version is the release with the revision that the binary was built from, as far as the build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return release + "+" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return release
}

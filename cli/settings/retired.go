package settings

import (
	"errors"
	"fmt"
	"strings"
)

// Retired returns what replaces a flag, or a key of the configuration file, that earlier versions
// had: the name of another flag or a sentence. It returns "" for any other name.
func Retired(name string) string {
	switch name {
	case "head.flush-interval":
		return "write.buffer.flush-interval"
	case "head.max-bytes":
		return "write.buffer.max-bytes"
	case "storage.uid-cache", "write.series-cache", "carbon.series-cache", "opentsdb.series-cache":
		return "storage.series-cache"
	case "graphite.tree-refresh":
		return "storage.index-refresh"
	case "graphite.timeout":
		return "query.timeout"
	case "graphite.max-concurrency", "read.max-concurrency":
		return "query.max-concurrency"
	case "graphite.max-series", "graphite.max-nodes":
		return "query.max-series"
	case "graphite.max-points", "read.max-samples":
		return "query.max-samples"
	case "write.max-decoded-bytes":
		return "write.max-body-bytes"
	case "web.max-in-flight-bytes":
		return "web.max-body-bytes"
	case "write.max-series", "write.max-samples", "write.max-series-bytes", "write.max-label-bytes",
		"write.timeout", "read.max-frame-bytes":
		return "a constant now; remove it"
	}
	return ""
}

// RetiredError returns the error for a retired name, nil for any other.
func RetiredError(prefix, name string) error {
	now := Retired(name)
	switch {
	case now == "":
		return nil
	case strings.Contains(now, " "):
		return errors.New(prefix + name + " is " + now)
	}
	return fmt.Errorf("%s%s was replaced by %s%s", prefix, name, prefix, now)
}

package call

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// The length of a made name is a product: of the length of an argument and the series, of the nodes
// that are asked for and their lengths. So its memory is taken before it is made.

const (
	// longName is from what length on, in bytes, a name is charged before it is made. Shorter ones are
	// charged with their series.
	longName = 512
	// mostName bounds a name that nodes, tags or a template make, in bytes: nobody reads longer ones.
	mostName = 1 << 20
)

// textBytes returns how many bytes long texts among arguments may add to the name of a series.
func textBytes(args []any) int64 {
	bytes := 0
	for _, a := range args {
		switch a := a.(type) {
		case string:
			bytes += len(a)
		case []any:
			bytes += int(textBytes(a))
		}
	}
	if bytes < longName {
		return 0
	}
	return int64(bytes)
}

// Joined joins parts to a name, whose memory is taken first. Without it the function fails.
func (c *Call) Joined(parts []string, separator string) string {
	if bytes := joinedBytes(parts, separator); bytes >= longName && !c.Reserve(int64(bytes)) {
		return ""
	}
	return strings.Join(parts, separator)
}

// Key is joined for parts that arguments may repeat as often as they like.
func (c *Call) Key(parts []string, separator string) string {
	if !c.Fits(joinedBytes(parts, separator)) {
		return ""
	}
	return c.Joined(parts, separator)
}

// Fits reports whether a name may have so many bytes. If not, the function fails.
func (c *Call) Fits(bytes int) bool {
	if bytes > mostName {
		c.Fail(python.Invalid("a name of more than %d bytes", mostName))
	}
	return c.Err == nil
}

func joinedBytes(parts []string, separator string) int {
	bytes := len(separator) * max(0, len(parts)-1)
	for _, p := range parts {
		bytes += len(p)
	}
	return bytes
}

// Called is a name that looks like the call of a function.
func (c *Call) Called(function string, args ...string) string {
	return c.Joined([]string{function, "(", c.Joined(args, ","), ")"}, "")
}

// ReplacedBytes returns the length of a template after each of some words was replaced.
func ReplacedBytes(template, word, by string) int {
	return len(template) + strings.Count(template, word)*(len(by)-len(word))
}

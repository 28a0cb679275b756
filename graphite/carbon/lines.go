package carbon

import "github.com/tsdbridge/tsdbridge/internal/netserver"

// MaxLine is the length of the longest line in bytes, without its newline: that of Twisted's
// LineOnlyReceiver, in which carbon reads.
const MaxLine = 16384

// leastBuffer always has room after a look for lines.
const leastBuffer = 2 * MaxLine

// newLines cuts what a connection sends into lines as carbon does: only a newline ends one, not a
// carriage return.
func newLines(buffer int, budget *netserver.Gate) netserver.Lines {
	return netserver.Lines{Max: buffer, Longest: MaxLine, Budget: budget}
}

// readBudget is what the memory of all connections may take beyond two lines each, in bytes.
const readBudget = 64 << 20

package put

import "github.com/tsdbridge/tsdbridge/internal/netserver"

// NewLines cuts what a connection sends into lines as Netty's LineBasedFrameDecoder does: a newline
// ends one, with a carriage return before it perhaps.
func NewLines(buffer, longest int, budget *netserver.Gate) netserver.Lines {
	return netserver.Lines{Max: buffer, Longest: longest, DropReturn: true, Budget: budget}
}

// ReadBudget is what the memory of all connections of telnet may take beyond two lines each, in
// bytes.
const ReadBudget = 64 << 20

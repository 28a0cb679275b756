package javaregexp

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// writeSet writes a set of characters as Go has it.
func writeSet(out *strings.Builder, s pattern.Set) {
	s = s.Sorted()
	if len(s) == 0 {
		out.WriteString(`[^\x{0}-\x{10FFFF}]`)
		return
	}
	out.WriteByte('[')
	for _, r := range s {
		fmt.Fprintf(out, `\x{%X}-\x{%X}`, r[0], r[1])
	}
	out.WriteByte(']')
}

// Package backtrack matches regular expressions by going back to earlier places of a text, which
// look-around, references to groups and possessive repeats need. A parser of some syntax builds
// Nodes; they are compiled to a program, which runs on a stack of its own. Work and memory are
// bounded: matching in steps and in places to go back to.
//
// The package knows no syntax and no query language. It never falls back on Go's regexp.
package backtrack

import (
	"errors"
	"fmt"
	"sync"
)

// ErrTooExpensive means that matching a text needs more than is allowed. Its text names the limit.
var ErrTooExpensive = errors.New("regular expression takes too long")

// MaxPlaces bounds the places to go back to while one text is matched, 16 bytes each.
const MaxPlaces = 1 << 18

var errPlaces = fmt.Errorf("%w: more than %d places to go back to in one text", ErrTooExpensive, MaxPlaces)

// Options say how a program is compiled and run.
type Options struct {
	Groups int // with the whole match, which is group 0
	// MostSteps bounds the steps for one text of a match that is given no Steps.
	MostSteps int
	// KeepsGroups means Java's groups: what a group has matched within look-around, an atomic group
	// or a round of a loop stays when the search goes back past it, and begins elsewhere.
	KeepsGroups bool
}

// A Program is a compiled pattern. It is safe for concurrent use.
type Program struct {
	o     Options
	insts []inst
	// How many the machine needs: two for each group, then those of groups, loops and guards.
	registers int
	anchored  bool // It matches at the start of the text or nowhere.
	tooMany   error
	idle      sync.Pool // of *Match
}

// Compile compiles a pattern. The program has a few instructions for each node: loops are not
// unrolled.
func Compile(root Node, o Options) *Program {
	c := &compiler{registers: 2 * o.Groups}
	root.compile(c)
	c.emit(inst{op: opMatch})
	p := &Program{o: o, insts: c.program, registers: c.registers}
	p.anchored = p.insts[0].op == opPlace && p.insts[0].start
	p.tooMany = fmt.Errorf("%w: more than %d steps for one text", ErrTooExpensive, o.MostSteps)
	return p
}

// Size returns how many instructions and registers the program has.
func (p *Program) Size() int { return len(p.insts) + p.registers }

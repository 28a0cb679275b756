package backtrack

// A Node is a part of a pattern. Width is how many characters it can take, for look-behind; most is
// Unbounded from there on. compile appends its instructions.
type Node interface {
	Width() (least, most int)
	compile(c *compiler)
}

// Unbounded stands for a width or a number of rounds without a bound.
const Unbounded = 1 << 30

// Char is one character: one that satisfies Is, or if that is nil Char itself.
type Char struct {
	Char rune
	Is   func(rune) bool
}

// Width implements Node.
func (Char) Width() (least, most int) { return 1, 1 }

func (n Char) compile(c *compiler) { c.emit(inst{op: opChar, char: n.Char, is: n.Is}) }

// A PlaceFunc reports whether something holds at a place of a text.
type PlaceFunc func(text string, at int) bool

// Place matches without taking anything.
type Place struct {
	Holds PlaceFunc
	Start bool // It holds at the start of the text alone.
}

// Width implements Node.
func (Place) Width() (least, most int) { return 0, 0 }

func (n Place) compile(c *compiler) {
	c.emit(inst{op: opPlace, holds: n.Holds, start: n.Start})
}

// Sequence is one node after the other.
type Sequence []Node

// Width implements Node.
func (n Sequence) Width() (least, most int) {
	for _, c := range n {
		l, h := c.Width()
		least, most = min(least+l, Unbounded), min(most+h, Unbounded)
	}
	return least, most
}

func (n Sequence) compile(c *compiler) {
	for _, part := range n {
		part.compile(c)
	}
}

// Alternatives are tried in order.
type Alternatives []Node

// Width implements Node.
func (n Alternatives) Width() (least, most int) {
	least = Unbounded
	for _, c := range n {
		l, h := c.Width()
		least, most = min(least, l), max(most, h)
	}
	return least, most
}

func (n Alternatives) compile(c *compiler) {
	var ends []int
	for i, branch := range n {
		if i == len(n)-1 {
			branch.compile(c)
			break
		}
		split := c.emit(inst{op: opSplit})
		c.program[split].x = c.next()
		branch.compile(c)
		ends = append(ends, c.emit(inst{op: opJump}))
		c.program[split].y = c.next()
	}
	for _, end := range ends {
		c.program[end].x = c.next()
	}
}

// Group captures.
type Group struct {
	Index int
	Body  Node
}

// Width implements Node.
func (n Group) Width() (least, most int) { return n.Body.Width() }

func (n Group) compile(c *compiler) {
	open := c.register()
	c.emit(inst{op: opMark, x: open})
	n.Body.compile(c)
	c.emit(inst{op: opClose, x: int32(2 * n.Index), y: open})
}

// Atomic gives the first match of its body and no other: `(?>…)` and possessive repeats.
type Atomic struct{ Body Node }

// Width implements Node.
func (n Atomic) Width() (least, most int) { return n.Body.Width() }

func (n Atomic) compile(c *compiler) {
	height := c.register()
	c.emit(inst{op: opGuard, x: height})
	n.Body.compile(c)
	c.emit(inst{op: opCommit, x: height})
}

// AgainFunc returns where a text ends that begins at a place and is like the one that a group has
// matched.
type AgainFunc func(text string, at int, group string) (end int, ok bool)

// Backreference matches what a group has matched, or what Again takes for the same.
type Backreference struct {
	Index int
	Again AgainFunc // nil: the same text
}

// Width implements Node.
func (Backreference) Width() (least, most int) { return 0, Unbounded }

func (n Backreference) compile(c *compiler) {
	c.emit(inst{op: opBackreference, x: int32(2 * n.Index), again: n.Again})
}

// Conditional is `(?(1)yes|no)`.
type Conditional struct {
	Index   int
	Yes, No Node
}

// Width implements Node.
func (n Conditional) Width() (least, most int) { return Alternatives{n.Yes, n.No}.Width() }

func (n Conditional) compile(c *compiler) {
	test := c.emit(inst{op: opIfGroup, x: int32(2 * n.Index)})
	n.Yes.compile(c)
	end := c.emit(inst{op: opJump})
	c.program[test].y = c.next()
	n.No.compile(c)
	c.program[end].x = c.next()
}

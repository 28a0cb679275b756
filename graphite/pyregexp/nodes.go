package pyregexp

// node is a part of a pattern. width is how many characters it can take, for look-behind; most is
// unbounded from unbounded on. compile appends its instructions.
type node interface {
	width() (least, most int)
	compile(c *compiler)
}

const unbounded = 1 << 30

// charNode is one character: one that satisfies a predicate, or without one char itself.
type charNode struct {
	char rune
	is   func(rune) bool
}

func (charNode) width() (least, most int) { return 1, 1 }

func (n charNode) compile(c *compiler) { c.emit(inst{op: opChar, char: n.char, is: n.is}) }

// sequence is one node after the other.
type sequence []node

func (n sequence) width() (least, most int) {
	for _, c := range n {
		l, h := c.width()
		least, most = min(least+l, unbounded), min(most+h, unbounded)
	}
	return least, most
}

func (n sequence) compile(c *compiler) {
	for _, part := range n {
		part.compile(c)
	}
}

// alternatives are tried in order.
type alternatives []node

func (n alternatives) width() (least, most int) {
	least = unbounded
	for _, c := range n {
		l, h := c.width()
		least, most = min(least, l), max(most, h)
	}
	return least, most
}

func (n alternatives) compile(c *compiler) {
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

// group captures.
type group struct {
	index int
	body  node
}

func (n group) width() (least, most int) { return n.body.width() }

func (n group) compile(c *compiler) {
	open := c.register()
	c.emit(inst{op: opMark, x: open})
	n.body.compile(c)
	c.emit(inst{op: opClose, x: int32(2 * n.index), y: open})
}

// repeat is a quantifier.
type repeat struct {
	body        node
	least, most int
	lazy        bool
}

func (n repeat) width() (least, most int) {
	l, h := n.body.width()
	if n.most >= unbounded && h > 0 {
		return min(l*n.least, unbounded), unbounded
	}
	return min(l*n.least, unbounded), min(h*min(n.most, unbounded), unbounded)
}

func (n repeat) compile(c *compiler) {
	least, most := int32(min(n.least, unbounded)), int32(min(n.most, unbounded))
	if char, ok := n.body.(charNode); ok {
		op := opRun
		if n.lazy {
			op = opLazyRun
		}
		c.emit(inst{op: op, char: char.char, is: char.is, least: least, most: most})
		return
	}
	count := c.register()
	last := c.register()
	c.emit(inst{op: opLoop, x: count, y: last})
	op := opRound
	if n.lazy {
		op = opLazyRound
	}
	round := c.emit(inst{op: op, least: least, most: most, z: count})
	c.emit(inst{op: opOnce, x: last, y: int32(round)})
	n.body.compile(c)
	c.emit(inst{op: opJump, x: int32(round)})
	c.program[round].x, c.program[round].y = int32(round)+1, c.next()
}

// atomic gives the first match of its body and no other: `(?>…)` and possessive repeats.
type atomic struct{ body node }

func (n atomic) width() (least, most int) { return n.body.width() }

func (n atomic) compile(c *compiler) {
	height := c.register()
	c.emit(inst{op: opGuard, x: height})
	n.body.compile(c)
	c.emit(inst{op: opCommit, x: height})
}

// look is look-ahead, and with isBehind look-behind over a fixed number of characters.
type look struct {
	body     node
	isBehind bool
	behind   int
	negative bool
}

func (look) width() (least, most int) { return 0, 0 }

func (n look) compile(c *compiler) {
	height, at := c.register(), c.register()
	c.emit(inst{op: opMark, x: at})
	c.emit(inst{op: opGuard, x: height})
	split := -1
	if n.negative {
		split = c.emit(inst{op: opSplit})
		c.program[split].x = c.next()
	}
	if n.isBehind {
		c.emit(inst{op: opBack, least: int32(n.behind)})
	}
	n.body.compile(c)
	if n.negative {
		c.emit(inst{op: opRefuse, x: height})
		c.program[split].y = c.next()
		return
	}
	c.emit(inst{op: opCommit, x: height})
	c.emit(inst{op: opReturn, x: at})
}

// backreference matches what a group matched.
type backreference struct {
	index int
	fold  bool
}

func (backreference) width() (least, most int) { return 0, unbounded }

func (n backreference) compile(c *compiler) {
	op := opBackreference
	if n.fold {
		op = opFoldedBackreference
	}
	c.emit(inst{op: op, x: int32(2 * n.index)})
}

// conditional is `(?(1)yes|no)`.
type conditional struct {
	index   int
	yes, no node
}

func (n conditional) width() (least, most int) { return alternatives{n.yes, n.no}.width() }

func (n conditional) compile(c *compiler) {
	test := c.emit(inst{op: opIfGroup, x: int32(2 * n.index)})
	n.yes.compile(c)
	end := c.emit(inst{op: opJump})
	c.program[test].y = c.next()
	n.no.compile(c)
	c.program[end].x = c.next()
}

func (place) width() (least, most int) { return 0, 0 }

func (n place) compile(c *compiler) { c.emit(inst{op: opPlace, place: n}) }

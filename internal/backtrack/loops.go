package backtrack

// Repeat is a quantifier as Python has it: a round beyond the least must not begin where the round
// before did.
type Repeat struct {
	Body        Node
	Least, Most int
	Lazy        bool
}

// Width implements Node.
func (n Repeat) Width() (least, most int) { return repeatedWidth(n.Body, n.Least, n.Most) }

func repeatedWidth(body Node, fewest, mostRounds int) (least, most int) {
	l, h := body.Width()
	if mostRounds >= Unbounded && h > 0 {
		return min(l*fewest, Unbounded), Unbounded
	}
	return min(l*fewest, Unbounded), min(h*min(mostRounds, Unbounded), Unbounded)
}

func (n Repeat) compile(c *compiler) {
	least, most := int32(min(n.Least, Unbounded)), int32(min(n.Most, Unbounded))
	if char, ok := n.Body.(Char); ok {
		op := opRun
		if n.Lazy {
			op = opLazyRun
		}
		c.emit(inst{op: op, char: char.Char, is: char.Is, least: least, most: most})
		return
	}
	count := c.register()
	last := c.register()
	c.emit(inst{op: opLoop, x: count, y: last})
	op := opRound
	if n.Lazy {
		op = opLazyRound
	}
	round := c.emit(inst{op: op, least: least, most: most, z: count})
	c.emit(inst{op: opOnce, x: last, y: int32(round)})
	n.Body.compile(c)
	c.emit(inst{op: opJump, x: int32(round)})
	c.program[round].x, c.program[round].y = int32(round)+1, c.next()
}

// Loop is a quantifier as Java has it over a group that can match in several ways: a round that
// takes nothing ends it, even before the least number of rounds.
type Loop struct {
	Body        Node
	Least, Most int
	Lazy        bool
}

// Width implements Node.
func (n Loop) Width() (least, most int) { return repeatedWidth(n.Body, n.Least, n.Most) }

func (n Loop) compile(c *compiler) {
	l := c.turns(n.Least, n.Most, n.Lazy, true)
	n.Body.compile(c)
	c.endTurns(l)
}

// Rounds is a quantifier as Java has it over what it takes for one thing: each round gives its
// first match and no other. A round beyond the least must take something.
type Rounds struct {
	Body        Node
	Group       int // that each round captures; 0: none
	Least, Most int
	Lazy        bool
}

// Width implements Node.
func (n Rounds) Width() (least, most int) { return repeatedWidth(n.Body, n.Least, n.Most) }

func (n Rounds) compile(c *compiler) {
	l := c.turns(n.Least, n.Most, n.Lazy, false)
	Atomic{n.Body}.compile(c)
	c.emit(inst{op: opMoved, x: l.start, z: l.count, least: int32(min(n.Least, Unbounded))})
	if n.Group > 0 {
		c.emit(inst{op: opClose, x: int32(2 * n.Group), y: l.start})
	}
	c.endTurns(l)
}

// loop is a loop that is being compiled.
type loop struct {
	begin        int32 // where a round jumps to at its end
	leave, turn  int   // instructions that need to know the end; leave is -1 without one
	count, start int32 // registers
}

// turns emits what stands before the body of a loop.
func (c *compiler) turns(least, most int, lazy, leaves bool) loop {
	l := loop{leave: -1, count: c.register(), start: c.register()}
	c.emit(inst{op: opLoop, x: l.count, y: l.start})
	l.begin = c.next()
	if leaves {
		l.leave = c.emit(inst{op: opLeave, x: l.start})
	}
	op := opTurn
	if lazy {
		op = opLazyTurn
	}
	l.turn = c.emit(inst{op: op, least: int32(min(least, Unbounded)), most: int32(min(most, Unbounded)), z: l.count})
	c.program[l.turn].x = c.next()
	c.emit(inst{op: opEnter, x: l.count, y: l.start})
	return l
}

func (c *compiler) endTurns(l loop) {
	c.emit(inst{op: opJump, x: l.begin})
	c.program[l.turn].y = c.next()
	if l.leave >= 0 {
		c.program[l.leave].y = c.next()
	}
}

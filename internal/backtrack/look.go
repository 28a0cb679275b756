package backtrack

// Look is look-ahead, or look-behind over Least to Most characters, of which it takes the fewest
// with which its body ends where it stands.
type Look struct {
	Body        Node
	Behind      bool
	Least, Most int
	Negative    bool
}

// Width implements Node.
func (Look) Width() (least, most int) { return 0, 0 }

func (n Look) compile(c *compiler) {
	height, at := c.register(), c.register()
	c.emit(inst{op: opMark, x: at})
	c.emit(inst{op: opGuard, x: height})
	split := -1
	if n.Negative {
		split = c.emit(inst{op: opSplit})
		c.program[split].x = c.next()
	}
	if n.Behind {
		c.emit(inst{op: opBehind, least: int32(n.Least), most: int32(n.Most)})
	}
	n.Body.compile(c)
	if n.Behind && n.Least < n.Most {
		c.emit(inst{op: opAt, x: at})
	}
	if n.Negative {
		c.emit(inst{op: opRefuse, x: height})
		c.program[split].y = c.next()
		return
	}
	c.emit(inst{op: opCommit, x: height})
	c.emit(inst{op: opReturn, x: at})
}

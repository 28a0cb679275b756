package pyregexp

// program is a compiled pattern. It ends with opMatch.
type program struct {
	insts []inst
	// How many the machine needs: two for each group, then those of groups, loops and guards.
	registers int
	anchored  bool // It matches at the start of the text or nowhere.
}

// inst is an instruction. What x, y and z are stands at the opcode; an instruction without a target
// goes on to the next.
type inst struct {
	op          opcode
	place       place
	char        rune            // If is is nil.
	is          func(rune) bool // A predicate of characters.
	x, y, z     int32
	least, most int32
}

type opcode byte

const (
	opMatch     opcode = iota // The pattern has matched.
	opChar                    // Takes one character.
	opRun                     // Takes least to most characters, as many as it can.
	opLazyRun                 // The same, as few as it can.
	opSplit                   // Goes to x and, when that fails, to y.
	opJump                    // Goes to x.
	opPlace                   // Goes on at a place of the text.
	opMark                    // Notes the position in register x.
	opClose                   // Captures group x/2, from the position in register y on.
	opLoop                    // Begins a loop: count x, start of the last round y.
	opRound                   // Goes round (x) or leaves (y) a loop with count z.
	opLazyRound               // The same, but would rather leave.
	// Fails where the round before began, if it may; x is that, y the loop.
	opOnce
	opGuard               // Notes the stack's height in register x.
	opCommit              // Forgets the ways back above the height in register x.
	opRefuse              // Goes back to the height in register x and fails there.
	opReturn              // Goes back to the position in register x.
	opBack                // Goes back least characters.
	opBackreference       // Takes what group x/2 has matched.
	opFoldedBackreference // The same in any case.
	opIfGroup             // Goes on if group x/2 has matched, else to y.
)

type compiler struct {
	program   []inst
	registers int
}

func compile(root node, groups int) program {
	c := &compiler{registers: 2 * groups}
	root.compile(c)
	c.emit(inst{op: opMatch})
	first := c.program[0]
	return program{insts: c.program, registers: c.registers, anchored: first.op == opPlace && first.place == textStart}
}

func (c *compiler) emit(i inst) (at int) {
	c.program = append(c.program, i)
	return len(c.program) - 1
}

func (c *compiler) next() int32 { return int32(len(c.program)) }

func (c *compiler) register() int32 {
	c.registers++
	return int32(c.registers - 1)
}

package backtrack

// inst is an instruction. What x, y and z are stands at the opcode; an instruction without a target
// goes on to the next.
type inst struct {
	op          opcode
	start       bool            // The place is the start of the text.
	char        rune            // If is is nil.
	is          func(rune) bool // A predicate of characters.
	holds       PlaceFunc
	again       AgainFunc // nil: the same text.
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
	opGuard         // Notes the stack's height in register x.
	opCommit        // Forgets the ways back above the height in register x.
	opRefuse        // Goes back to the height in register x and fails there.
	opReturn        // Goes back to the position in register x.
	opBehind        // Goes back least to most characters, as few as it can.
	opAt            // Fails unless the position is that in register x.
	opBackreference // Takes what group x/2 has matched.
	opIfGroup       // Goes on if group x/2 has matched, else to y.
	opTurn          // Goes round (x) or leaves (y) a loop with count z whose rounds count themselves.
	opLazyTurn      // The same, but would rather leave.
	opEnter         // Counts a round in register x and notes its start in y.
	opLeave         // Leaves a loop (to y) after a round, begun in register x, that took nothing.
	opMoved         // Fails after such a round, unless the count in z is not above least.
)

type compiler struct {
	program   []inst
	registers int
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

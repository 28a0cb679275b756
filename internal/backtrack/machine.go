package backtrack

import "unicode/utf8"

// A Match is one text being matched. Its registers begin with start and end of each group, -1 while
// it has not matched.
type Match struct {
	*Program

	text    string
	regs    []int32
	stack   []back
	steps   int // done
	allowed int // steps may reach
	source  *Steps
	err     error
}

// back is something to undo, or a place to go back to.
type back struct {
	kind    backKind
	pc      int32 // The instruction, or the register to restore.
	at, end int32
}

type backKind int32

const (
	backTo      backKind = iota // Go on with pc at at.
	backValue                   // Register pc was at.
	backShorter                 // The run pc took what is up to end, and at least up to at.
	// The run pc took what is up to at, and may take end more characters.
	backLonger
	// Go on with pc a character before at, and then up to end characters in all.
	backBehind
)

// Match begins to match a text, within the steps that steps has left for it if it is not nil. End
// must be called at the end.
func (p *Program) Match(text string, steps *Steps) *Match {
	m, ok := p.idle.Get().(*Match)
	if !ok {
		m = &Match{Program: p, regs: make([]int32, p.registers)}
	}
	m.text, m.steps, m.allowed, m.source, m.err = text, 0, p.o.MostSteps, steps, nil
	if steps != nil {
		m.allowed, m.err = steps.take(false)
	}
	if p.o.KeepsGroups {
		m.forget()
	}
	return m
}

// End gives back what the match has taken.
func (m *Match) End() {
	if m.source != nil {
		m.source.give(m.allowed - m.steps)
	}
	m.text, m.source = "", nil
	m.idle.Put(m)
}

// Err returns why the match was given up.
func (m *Match) Err() error { return m.err }

// Group returns where a group begins and ends; -1 if it has not matched.
func (m *Match) Group(n int) (begin, end int) { return int(m.regs[2*n]), int(m.regs[2*n+1]) }

// Search finds the leftmost match from at on and returns its end. With advance it must not be empty
// at at itself.
func (m *Match) Search(at int, advance bool) (int, bool) {
	for start := at; start <= len(m.text); {
		if end, ok := m.At(start, advance && start == at); ok || m.err != nil || m.anchored {
			return end, ok
		}
		_, size := utf8.DecodeRuneInString(m.text[start:])
		start += max(size, 1)
	}
	return 0, false
}

// At matches at start exactly.
func (m *Match) At(start int, advance bool) (int, bool) {
	if !m.o.KeepsGroups || m.regs[1] >= 0 {
		m.forget()
	}
	m.stack = m.stack[:0]
	end, ok := m.run(start, advance)
	if ok = ok && m.err == nil; ok {
		m.regs[0], m.regs[1] = int32(start), int32(end)
	}
	return end, ok
}

// forget forgets what groups have matched.
func (m *Match) forget() {
	m.spend(len(m.regs) / 16)
	for i := range m.regs {
		m.regs[i] = -1
	}
}

// spend counts work that is more than a step. What is too much shows at the next step.
func (m *Match) spend(steps int) { m.steps += steps }

// refill takes more steps, if there are any.
func (m *Match) refill() {
	if m.source == nil {
		m.err = m.tooMany
		return
	}
	for m.err == nil && m.steps > m.allowed {
		var more int
		more, m.err = m.source.take(true)
		m.allowed += more
	}
}

// run follows the program from a position on.
func (m *Match) run(start int, advance bool) (end int, ok bool) {
	insts := m.insts
	pc, at := int32(0), start
	for {
		if m.steps++; m.steps > m.allowed {
			m.refill()
		}
		if m.err != nil {
			return 0, false
		}
		i := &insts[pc]
		ok := true
		pc++
		switch i.op {
		case opMatch:
			if ok = !advance || at != start; ok {
				return at, true
			}
		case opChar:
			at, ok = i.take(m.text, at)
		case opRun:
			at, ok = m.greedy(i, pc, at)
		case opLazyRun:
			at, ok = m.lazy(i, pc, at)
		case opSplit:
			m.push(back{backTo, i.y, int32(at), 0})
			pc = i.x
		case opJump:
			pc = i.x
		case opPlace:
			ok = i.holds(m.text, at)
		case opMark:
			m.set(i.x, int32(at))
		case opClose:
			m.set(i.x, m.regs[i.y])
			m.set(i.x+1, int32(at))
		case opLoop:
			m.set(i.x, 0)
			m.set(i.y, -1)
		case opRound, opLazyRound:
			pc = m.round(i, at)
		case opOnce:
			ok = m.once(i, insts[i.y], at)
		case opGuard:
			m.set(i.x, 0)
			m.regs[i.x] = int32(len(m.stack))
		case opCommit:
			m.commit(int(m.regs[i.x]))
		case opRefuse:
			m.undo(int(m.regs[i.x]))
			ok = false
		case opReturn:
			at = int(m.regs[i.x])
		case opBehind:
			at, ok = m.behind(i, pc, at)
		case opAt:
			ok = at == int(m.regs[i.x])
		case opBackreference:
			at, ok = m.reference(i, at)
		case opIfGroup:
			if m.regs[i.x+1] < 0 {
				pc = i.y
			}
		case opTurn, opLazyTurn:
			pc = m.turn(i, at)
		case opEnter:
			m.set(i.x, m.regs[i.x]+1)
			m.set(i.y, int32(at))
		case opLeave:
			if at == int(m.regs[i.x]) {
				pc = i.y
			}
		case opMoved:
			ok = at > int(m.regs[i.x]) || m.regs[i.z] <= i.least
		}
		if !ok {
			if pc, at, ok = m.back(); !ok {
				return 0, false
			}
		}
	}
}

// take takes one character.
func (i *inst) take(text string, at int) (int, bool) {
	if at == len(text) {
		return at, false
	}
	r, size := rune(text[at]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRuneInString(text[at:])
	}
	if i.is == nil {
		return at + size, r == i.char
	}
	return at + size, i.is(r)
}

// several takes up to most characters.
func (m *Match) several(i *inst, at int, most int32) (end int, taken int32) {
	for taken < most {
		next, ok := i.take(m.text, at)
		if !ok {
			break
		}
		at = next
		taken++
	}
	m.spend(int(taken))
	return at, taken
}

// greedy takes as many characters as it can; going back gives them up one by one, down to the
// least.
func (m *Match) greedy(i *inst, pc int32, at int) (int, bool) {
	shortest, taken := m.several(i, at, i.least)
	if taken < i.least {
		return at, false
	}
	end, _ := m.several(i, shortest, i.most-i.least)
	if end > shortest {
		m.push(back{backShorter, pc, int32(shortest), int32(end)})
	}
	return end, true
}

// lazy takes the least; going back takes more one by one.
func (m *Match) lazy(i *inst, pc int32, at int) (int, bool) {
	end, taken := m.several(i, at, i.least)
	if taken < i.least {
		return at, false
	}
	if i.most > i.least {
		m.push(back{backLonger, pc, int32(end), i.most - i.least})
	}
	return end, true
}

// round decides whether a loop goes round once more. Python counts rounds beyond the least only
// from where the round before did not begin; opOnce sees to that.
func (m *Match) round(i *inst, at int) (pc int32) {
	count := m.regs[i.z]
	switch {
	case count < i.least:
		m.set(i.z, count+1)
		return i.x + 1 // The least rounds may all be empty.
	case i.op == opLazyRound:
		m.push(back{backTo, i.x, int32(at), 0})
		return i.y
	case count < i.most:
		m.push(back{backTo, i.y, int32(at), 0})
		return i.x
	}
	return i.y
}

// once enters a round that need not be.
func (m *Match) once(i *inst, loop inst, at int) bool {
	count := m.regs[loop.z]
	if int32(at) == m.regs[i.x] || count >= loop.most {
		return false
	}
	m.set(loop.z, count+1)
	m.set(i.x, int32(at))
	return true
}

// turn decides whether a loop goes round once more.
func (m *Match) turn(i *inst, at int) (pc int32) {
	count := m.regs[i.z]
	switch {
	case count < i.least:
		return i.x
	case count >= i.most:
		return i.y
	case i.op == opLazyTurn:
		m.push(back{backTo, i.x, int32(at), 0})
		return i.y
	}
	m.push(back{backTo, i.y, int32(at), 0})
	return i.x
}

// behind goes back least characters, and later to most.
func (m *Match) behind(i *inst, pc int32, at int) (int, bool) {
	characters := int(i.least)
	for n := range characters {
		_, size := utf8.DecodeLastRuneInString(m.text[:at])
		if size == 0 {
			m.spend(n)
			return at, false
		}
		at -= size
	}
	m.spend(characters)
	if i.most > i.least && at > 0 {
		m.push(back{backBehind, pc, int32(at), i.most - i.least})
	}
	return at, true
}

// reference takes what a group has matched.
func (m *Match) reference(i *inst, at int) (int, bool) {
	from, to := int(m.regs[i.x]), int(m.regs[i.x+1])
	if to < 0 {
		return at, false
	}
	group := m.text[from:to]
	m.spend(len(group) / 8)
	if i.again != nil {
		m.spend(len(group))
		return i.again(m.text, at, group)
	}
	if at+len(group) > len(m.text) {
		return at, false
	}
	return at + len(group), m.text[at:at+len(group)] == group
}

func (m *Match) push(b back) {
	if len(m.stack) >= MaxPlaces {
		m.err = errPlaces
		return
	}
	m.stack = append(m.stack, b)
}

// set changes a register, which going back undoes.
func (m *Match) set(register, value int32) {
	m.push(back{backValue, register, m.regs[register], 0})
	m.regs[register] = value
}

// back goes back to the last place that there is.
func (m *Match) back() (pc int32, at int, ok bool) {
	for len(m.stack) > 0 {
		b := &m.stack[len(m.stack)-1]
		switch b.kind {
		case backValue:
			m.regs[b.pc] = b.at
		case backTo:
			m.stack = m.stack[:len(m.stack)-1]
			return b.pc, int(b.at), true
		case backShorter:
			_, size := utf8.DecodeLastRuneInString(m.text[:b.end])
			if b.end -= int32(size); b.end <= b.at {
				m.stack = m.stack[:len(m.stack)-1]
			}
			return b.pc, int(b.end), true
		case backLonger:
			if next, ok := m.insts[b.pc-1].take(m.text, int(b.at)); ok {
				b.at = int32(next)
				if b.end--; b.end == 0 {
					m.stack = m.stack[:len(m.stack)-1]
				}
				return b.pc, next, true
			}
		case backBehind:
			_, size := utf8.DecodeLastRuneInString(m.text[:b.at])
			b.at -= int32(size)
			b.end--
			pc, at = b.pc, int(b.at)
			if b.end == 0 || b.at == 0 {
				m.stack = m.stack[:len(m.stack)-1]
			}
			return pc, at, true
		}
		m.stack = m.stack[:len(m.stack)-1]
	}
	return 0, 0, false
}

// commit forgets the places to go back to above a height, but not what is to be undone when
// something before them fails.
func (m *Match) commit(height int) {
	if m.o.KeepsGroups {
		m.stack = m.stack[:height]
		return
	}
	m.spend(len(m.stack) - height)
	kept := m.stack[:height]
	for _, b := range m.stack[height:] {
		if b.kind == backValue {
			kept = append(kept, b)
		}
	}
	m.stack = kept
}

// undo goes back to a height of the stack, passing all places above it.
func (m *Match) undo(height int) {
	if !m.o.KeepsGroups {
		m.spend(len(m.stack) - height)
		for n := len(m.stack) - 1; n >= height; n-- {
			if b := m.stack[n]; b.kind == backValue {
				m.regs[b.pc] = b.at
			}
		}
	}
	m.stack = m.stack[:height]
}

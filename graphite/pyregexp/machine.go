package pyregexp

import (
	"strings"
	"unicode/utf8"
)

// machine is one text being matched. regs begins with start and end of each group, -1 while it has
// not matched.
type machine struct {
	*Regexp
	text  string
	regs  []int32
	stack []back
	steps int
	err   error
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
)

func (r *Regexp) machine(text string) *machine {
	m, ok := r.idle.Get().(*machine)
	if !ok {
		m = &machine{Regexp: r, regs: make([]int32, r.program.registers)}
	}
	m.text, m.steps, m.err = text, 0, nil
	return m
}

// search finds the leftmost match from at on and returns its end. With advance it must not be empty
// at at itself.
func (m *machine) search(at int, advance bool) (int, bool) {
	for start := at; start <= len(m.text); {
		if end, ok := m.at(start, advance && start == at); ok || m.err != nil || m.program.anchored {
			return end, ok
		}
		_, size := utf8.DecodeRuneInString(m.text[start:])
		start += max(size, 1)
	}
	return 0, false
}

// at matches at start exactly.
func (m *machine) at(start int, advance bool) (int, bool) {
	m.spend(len(m.regs) / 16)
	for i := range m.regs {
		m.regs[i] = -1
	}
	m.stack = m.stack[:0]
	end, ok := m.run(start, advance)
	if ok = ok && m.err == nil; ok {
		m.regs[0], m.regs[1] = int32(start), int32(end)
	}
	return end, ok
}

// spend counts work that is more than a step. What is too much shows at the next step.
func (m *machine) spend(steps int) { m.steps += steps }

// run follows the program from a position on.
func (m *machine) run(start int, advance bool) (end int, ok bool) {
	insts := m.program.insts
	pc, at := int32(0), start
	for {
		if m.steps++; m.steps > maxSteps {
			m.err = errSteps
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
			ok = i.place.holds(m.text, at)
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
		case opBack:
			at, ok = m.behind(at, int(i.least))
		case opBackreference, opFoldedBackreference:
			at, ok = m.again(i, at)
		case opIfGroup:
			if m.regs[i.x+1] < 0 {
				pc = i.y
			}
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
func (m *machine) several(i *inst, at int, most int32) (end int, taken int32) {
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
func (m *machine) greedy(i *inst, pc int32, at int) (int, bool) {
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
func (m *machine) lazy(i *inst, pc int32, at int) (int, bool) {
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
func (m *machine) round(i *inst, at int) (pc int32) {
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
func (m *machine) once(i *inst, loop inst, at int) bool {
	count := m.regs[loop.z]
	if int32(at) == m.regs[i.x] || count >= loop.most {
		return false
	}
	m.set(loop.z, count+1)
	m.set(i.x, int32(at))
	return true
}

// behind goes back a number of characters.
func (m *machine) behind(at, characters int) (int, bool) {
	for n := range characters {
		_, size := utf8.DecodeLastRuneInString(m.text[:at])
		if size == 0 {
			m.spend(n)
			return at, false
		}
		at -= size
	}
	m.spend(characters)
	return at, true
}

// again takes what a group has matched.
func (m *machine) again(i *inst, at int) (int, bool) {
	from, to := int(m.regs[i.x]), int(m.regs[i.x+1])
	if to < 0 || at+to-from > len(m.text) {
		return at, false
	}
	got, want := m.text[at:at+to-from], m.text[from:to]
	m.spend(len(want) / 8)
	return at + len(want), got == want || i.op == opFoldedBackreference && strings.EqualFold(got, want)
}

func (m *machine) push(b back) {
	if len(m.stack) >= maxPlaces {
		m.err = errPlaces
		return
	}
	m.stack = append(m.stack, b)
}

// set changes a register, which going back undoes.
func (m *machine) set(register, value int32) {
	m.push(back{backValue, register, m.regs[register], 0})
	m.regs[register] = value
}

// back goes back to the last place that there is.
func (m *machine) back() (pc int32, at int, ok bool) {
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
			if next, ok := m.program.insts[b.pc-1].take(m.text, int(b.at)); ok {
				b.at = int32(next)
				if b.end--; b.end == 0 {
					m.stack = m.stack[:len(m.stack)-1]
				}
				return b.pc, next, true
			}
		}
		m.stack = m.stack[:len(m.stack)-1]
	}
	return 0, 0, false
}

// commit forgets the places to go back to above a height, but not what is to be undone when
// something before them fails.
func (m *machine) commit(height int) {
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
func (m *machine) undo(height int) {
	m.spend(len(m.stack) - height)
	for n := len(m.stack) - 1; n >= height; n-- {
		if b := m.stack[n]; b.kind == backValue {
			m.regs[b.pc] = b.at
		}
	}
	m.stack = m.stack[:height]
}

package intern

// part is a table of open addresses, at most three quarters full.
type part struct {
	slots []slot // a power of two of them
	used  int
}

// slot is a number and a piece of its hash, which spares most looks at the bytes of others, and all
// hashing when a table grows.
type slot struct {
	tag  uint32
	next uint32 // the number + 1; 0: nothing
}

const (
	slotSize = 8
	minSlots = 8
)

// tagOf returns the low bits of a hash. The highest bits choose the part.
func tagOf(hash uint64) uint32 { return uint32(hash) }

// add adds a number under a hash and returns how much memory that took.
func (p *part) add(hash uint64, number uint32) (grown int64) {
	if 4*(p.used+1) > 3*len(p.slots) {
		grown = p.grow()
	}
	p.used++
	p.put(slot{tagOf(hash), number + 1})
	return grown
}

func (p *part) put(s slot) {
	mask := len(p.slots) - 1
	at := int(s.tag) & mask
	for p.slots[at].next != 0 {
		at = (at + 1) & mask
	}
	p.slots[at] = s
}

func (p *part) grow() int64 {
	before := p.slots
	p.slots = make([]slot, max(2*len(before), minSlots))
	for _, s := range before {
		if s.next != 0 {
			p.put(s)
		}
	}
	return int64(len(p.slots)-len(before)) * slotSize
}

package intern

// part is a table of open addresses, from half to three quarters full.
type part struct {
	slots []slot
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

// first returns where the search for a tag begins. The tag is taken as a fraction of the table, so
// that the table can have any length.
func (p *part) first(tag uint32) int { return int(uint64(tag) * uint64(len(p.slots)) >> 32) }

func (p *part) put(s slot) {
	at := p.first(s.tag)
	for p.slots[at].next != 0 {
		if at++; at == len(p.slots) {
			at = 0
		}
	}
	p.slots[at] = s
}

func (p *part) grow() int64 {
	before := p.slots
	p.slots = make([]slot, max(len(before)+len(before)/2, minSlots))
	for _, s := range before {
		if s.next != 0 {
			p.put(s)
		}
	}
	return int64(len(p.slots)-len(before)) * slotSize
}

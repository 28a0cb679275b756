package head

const (
	blockSize = 64
	blockData = blockSize - 4
)

// block is a piece of a chain.
type block struct {
	data [blockData]byte
	next uint32
}

// chain is a string of bytes that grows at its end, in blocks of a slab: at most one block of it is
// waste.
type chain struct {
	first, tail uint32 // blocks
	size        uint32 // bytes
}

// write appends bytes.
func (c *chain) write(blocks *slab[block], b []byte) {
	for len(b) > 0 {
		at := c.size % blockData
		if at == 0 {
			c.grow(blocks)
		}
		n := copy(blocks.at(c.tail).data[at:], b)
		c.size += uint32(n)
		b = b[n:]
	}
}

func (c *chain) grow(blocks *slab[block]) {
	n, _ := blocks.take()
	if c.first == 0 {
		c.first = n
	} else {
		blocks.at(c.tail).next = n
	}
	c.tail = n
}

// last returns the place of the last byte of a chain that is not empty.
func (c *chain) last(blocks *slab[block]) *byte {
	return &blocks.at(c.tail).data[(c.size-1)%blockData]
}

// appendTo appends the bytes of the chain to dst.
func (c *chain) appendTo(dst []byte, blocks *slab[block]) []byte {
	left := c.size
	for n := c.first; left > 0; {
		b := blocks.at(n)
		part := min(left, blockData)
		dst = append(dst, b.data[:part]...)
		left -= part
		n = b.next
	}
	return dst
}

// release gives the blocks back.
func (c *chain) release(blocks *slab[block]) {
	for n := c.first; n != 0; {
		next := blocks.at(n).next
		blocks.give(n)
		n = next
	}
	*c = chain{}
}

// blocks returns the number of blocks of the chain.
func (c *chain) blocks() int64 { return (int64(c.size) + blockData - 1) / blockData }

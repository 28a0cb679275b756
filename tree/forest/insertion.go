package forest

import (
	"bytes"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An insertionRound is the cells that one round of one call of Observe writes. While it runs, no
// other call in this process writes them.
type insertionRound struct {
	forest   *Forest
	cells    []newCell
	done     chan struct{}
	others   []chan struct{} // of calls that write cells which this round needs
	again    []insertion     // what must wait for them, or for a leaf of this round
	inserted []inserted      // what has a leaf after this round
	parent   parentBranch    // of the insertion before
	row      branchRow       // of the leaf that was added before
	key      []byte          // scratch memory
	text     []byte          // of the cells of leaves
}

// A claim is a cell that a call is writing.
type claim struct {
	round *insertionRound // nil: of another kind
	cell  int             // in the round, when it was taken
	done  chan struct{}   // closed when it is over
}

// inserted is a series that has a leaf after a round.
type inserted struct {
	*insertion // of the observation's list as it was when the round began
	// placed means that the index is known to have it under its names: no other process writes.
	placed bool
}

// parentBranch is where the index has the branches of a path.
type parentBranch struct {
	tree   *Tree
	names  []string
	row    []byte
	branch uint32 // the last one that is known
	known  int    // branches that are known, the root included
	taken  bool   // this round writes the branches that are not known
}

// A newCell is a cell to write.
type newCell struct {
	Step
	key  string // row and qualifier
	tree *Tree
	name string
	// doubted is true when the index may have the cell although the table does not.
	doubted bool
	// absent is true when the table is known not to have the cell.
	absent bool
	// holder is the leaf that is there already. It has no TSUID if it could not be read.
	holder   *schema.Leaf
	inserted int // of a leaf: the place of its series in the round's list
}

// branchRow is where the index has the branch of a row.
type branchRow struct {
	key    []byte
	names  []string // of a path that leads to it
	branch uint32
	ok     bool
	named  bool // it and those above it have these names
}

// beginRound takes the cells that the insertions need, and that no call is known to have written or
// to be writing.
func (f *Forest) beginRound(p *observation) *insertionRound {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &insertionRound{forest: f, done: make(chan struct{}), cells: make([]newCell, 0, len(p.todo)), inserted: make([]inserted, 0, len(p.todo))}
	f.index.mu.RLock()
	defer f.index.mu.RUnlock()
	for i := range p.todo {
		one := &p.todo[i]
		switch {
		case !c.insert(p, one):
			c.again = append(c.again, *one)
		case one.hasLeaf():
			c.inserted = append(c.inserted, inserted{insertion: one})
		}
	}
	f.writes += len(c.cells)
	return c
}

// insert takes the cells that a series lacks. ok is false when the series must be looked at again
// after this round. The caller holds the locks.
func (c *insertionRound) insert(p *observation, one *insertion) (ok bool) {
	var branches []string
	hasLeaf := one.hasLeaf()
	if hasLeaf {
		branches = one.route.Branches
	}
	at := c.parentOf(one.tree, branches)
	if hasLeaf && at.known > len(branches) {
		holder := c.forest.index.holder(at.branch, one.route.Leaf)
		if holder != nil && (!p.doubted || !bytes.Equal(holder, one.tsuid)) {
			p.collide(*one, holder)
			return true
		}
	}
	for depth := at.known; depth <= len(branches) && !at.taken; depth++ {
		if !c.takeBranch(one.tree, at.row, branches[:depth]) {
			return false // another call writes a parent branch; look again when the index has it
		}
	}
	at.taken = true
	return !hasLeaf || c.takeLeaf(p, one, at)
}

// parentOf finds the branches of a path. Neighbours mostly have them in common.
func (c *insertionRound) parentOf(t *Tree, names []string) *parentBranch {
	at := &c.parent
	if at.tree == t && slices.Equal(at.names, names) {
		return at
	}
	*at = parentBranch{tree: t, names: names, row: schema.BranchRow(t.ID(), names...)}
	at.branch, at.known = c.forest.index.locate(t.ID(), names)
	return at
}

// takeBranch takes the branch under these names. row is its own row, or that of a branch below it.
func (c *insertionRound) takeBranch(t *Tree, row []byte, names []string) (ok bool) {
	row = row[:len(row)-schema.ChildWidth*(schema.Depth(row)-len(names))]
	key := c.keyOf(row, schema.BranchQualifier())
	taken, ok := c.forest.inflight[string(key)]
	if ok {
		return taken.round == c || c.waitFor(taken)
	}
	name := schema.RootName
	if len(names) > 0 {
		name = names[len(names)-1]
	}
	c.take(key, newCell{tree: t, name: name, Step: Step{Row: row, Qualifier: schema.BranchQualifier(), Value: branchValue(names)}})
	return true
}

// takeLeaf takes the leaf of a series. ok is false when another series of this call has it.
func (c *insertionRound) takeLeaf(p *observation, one *insertion, at *parentBranch) (ok bool) {
	c.key = schema.AppendLeafQualifier(append(c.key[:0], at.row...), one.route.Leaf)
	if taken, ok := c.forest.inflight[string(c.key)]; ok {
		return taken.round == c && bytes.Equal(c.cells[taken.cell].Leaf, one.tsuid) || taken.round != c && c.waitFor(taken)
	}
	qualifier, value := c.leafCell(c.key[len(at.row):], one)
	step := Step{Row: at.row, Qualifier: qualifier, Value: value, Leaf: one.tsuid}
	c.take(c.key, newCell{tree: one.tree, name: one.route.Leaf, Step: step, inserted: len(c.inserted), doubted: p.doubted})
	return true
}

// textBytes is how much memory for the cells of leaves is taken at once.
const textBytes = 16 << 10

// leafCell makes the column and the value of a leaf in memory that the leaves of the round share.
func (c *insertionRound) leafCell(qualifier []byte, one *insertion) (column, value []byte) {
	leaf := schema.Leaf{DisplayName: one.route.Leaf, TSUID: one.tsuid}
	if need := len(qualifier) + leaf.MaxSize(); cap(c.text)-len(c.text) < need {
		c.text = make([]byte, 0, max(textBytes, need))
	}
	begin := len(c.text)
	c.text = append(c.text, qualifier...)
	end := len(c.text)
	c.text = leaf.AppendTo(c.text)
	return c.text[begin:end:end], c.text[end:len(c.text):len(c.text)]
}

// keyOf returns the key of a cell, which is valid until the next call.
func (c *insertionRound) keyOf(row, qualifier []byte) []byte {
	c.key = append(append(c.key[:0], row...), qualifier...)
	return c.key
}

// waitFor notes that another call has a cell that is needed. It returns false.
func (c *insertionRound) waitFor(other claim) bool {
	if !slices.Contains(c.others, other.done) {
		c.others = append(c.others, other.done)
	}
	return false
}

// take takes a cell that no call has.
func (c *insertionRound) take(key []byte, cell newCell) {
	f := c.forest
	cell.key = string(key)
	cell.absent = f.o.Exclusive && f.complete && !f.unsure[cell.key] && !cell.doubted
	f.inflight[cell.key] = claim{c, len(c.cells), c.done}
	c.cells = append(c.cells, cell)
}

// settle releases the cells, adds what was written to the index, and keeps what must be looked at
// again.
func (c *insertionRound) settle(p *observation, err error) {
	f := c.forest
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range c.cells {
		key := c.cells[i].key
		delete(f.inflight, key)
		if err == nil {
			delete(f.unsure, key)
		} else if f.complete { // it may be there
			f.unsure[key] = true
		}
	}
	close(c.done)
	if err != nil {
		f.missed = f.missed || !f.complete // what is being loaded may lack it
		f.complete = f.complete && len(f.unsure) < maxUnsure
		return
	}
	p.todo = c.again
	for _, i := range c.byDepth() {
		cell := &c.cells[i]
		if cell.Leaf == nil && p.fresh {
			f.made.Add(1)
		}
		if cell.holder != nil {
			p.collide(insertion{tree: cell.tree, tsuid: cell.Leaf}, cell.holder.TSUID)
		}
		c.index(cell)
	}
	c.place(p)
}

// byDepth orders the cells by their parents: branches from the root downwards, then leaves.
func (c *insertionRound) byDepth() []int {
	order := make([]int, 0, len(c.cells))
	for i := range c.cells {
		if c.cells[i].Leaf == nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return c.cells[a].depth() - c.cells[b].depth() })
	for i := range c.cells {
		if c.cells[i].Leaf != nil {
			order = append(order, i)
		}
	}
	return order
}

// place finds where the series are now. The caller holds the forest's lock.
func (c *insertionRound) place(p *observation) {
	f := c.forest
	f.index.mu.RLock()
	defer f.index.mu.RUnlock()
	for i := range c.inserted {
		one := c.inserted[i].insertion
		if c.inserted[i].placed {
			continue
		}
		where := f.index.place(one.tree.ID(), one.names(), one.tsuid)
		if where == placed && p.doubted {
			where = f.index.again(*one)
		}
		switch {
		case where == unknown && one.tries < maxTries: // another index is in use now, or the leaf cannot be read
			one.tries++
			p.todo = append(p.todo, *one)
		case where == unknown, where == hashTaken:
			p.collided = append(p.collided, *one)
		case where == shared:
			p.also = append(p.also, *one)
		}
	}
}

// maxTries is how often a series is inserted whose cells are not in the index afterwards.
const maxTries = 3

// maxUnsure is how many cells are remembered as perhaps written. Beyond that the table is asked
// about all cells.
const maxUnsure = 1 << 20

// index adds a cell to the index in use. An index that is being loaded may lack the parent branch
// of the cell.
func (c *insertionRound) index(cell *newCell) {
	f := c.forest
	var ok bool
	var err error
	switch leaf := cell.leaf(); {
	case cell.Leaf == nil:
		key, _ := schema.ParseBranchRow(cell.Row)
		ok, err = f.index.AddBranch(key, cell.name)
	case len(leaf.TSUID) == 0: // a leaf that could not be read is in no index
		return
	default:
		at := c.rowOf(cell)
		if ok = at.ok; ok {
			err = f.index.addLeafTo(cell.tree.ID(), at.branch, schema.NameHash(cell.name), leaf)
			c.inserted[cell.inserted].placed = at.named && cell.absent && err == nil
		}
	}
	f.missed = f.missed || !ok
	f.complete = f.complete && ok && err == nil
}

// rowOf finds the branch of a leaf in the index in use. Neighbours mostly have it in common.
func (c *insertionRound) rowOf(leaf *newCell) *branchRow {
	at, names := &c.row, c.inserted[leaf.inserted].route.Branches
	// Names that share a hash have one row.
	if at.key != nil && bytes.Equal(at.key, leaf.Row) && slices.Equal(at.names, names) {
		return at
	}
	key, _ := schema.ParseBranchRow(leaf.Row)
	x := c.forest.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	*at = branchRow{key: leaf.Row, names: names}
	if at.branch, at.ok = x.branchOf(key); at.ok {
		at.named = x.branchNamesMatch(leaf.tree.ID(), names)
	}
	return at
}

// leaf returns the leaf that the cell holds now.
func (c *newCell) leaf() schema.Leaf {
	if c.holder != nil {
		return *c.holder
	}
	return schema.Leaf{DisplayName: c.name, TSUID: c.Leaf}
}

// depth orders cells by their parents: branches from the root downwards, then leaves.
func (c *newCell) depth() int {
	if c.Leaf != nil {
		return kv.MaxKeyLength + 1
	}
	return len(c.Row)
}

// collide notes a series whose leaf another series has. It may be called in several rounds.
func (p *observation) collide(one insertion, holder []byte) {
	if bytes.Equal(holder, one.tsuid) {
		return
	}
	if m, ok := one.tree.Collision(one.tsuid, holder); ok {
		p.fail(m)
	}
}

// mutations returns cells as mutations of rows. Neighbours mostly are in one row.
func mutations(cells []newCell) []kv.Mutation {
	var rows []kv.Mutation
	at := map[string]int{}
	puts := make([]kv.Put, 0, len(cells))
	for begin := 0; begin < len(cells); {
		row, from, end := cells[begin].Row, len(puts), begin
		for ; end < len(cells) && bytes.Equal(cells[end].Row, row); end++ {
			puts = append(puts, kv.Put{Qualifier: cells[end].Qualifier, Value: cells[end].Value})
		}
		begin = end
		if n, ok := at[string(row)]; ok {
			rows[n].Puts = append(rows[n].Puts, puts[from:]...)
			continue
		}
		at[string(row)] = len(rows)
		rows = append(rows, kv.Mutation{Key: row, Puts: puts[from:len(puts):len(puts)]})
	}
	return rows
}

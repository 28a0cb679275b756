package tree

import (
	"bytes"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An insertionRound is the cells that one round of one call of Observe writes. No other call in
// this process writes them meanwhile.
type insertionRound struct {
	forest   *Forest
	cells    []newCell
	own      map[string]int // by row and qualifier: place in cells
	done     chan struct{}
	others   []chan struct{} // of calls that write cells which this round needs
	again    []insertion     // what must wait for them, or for a leaf of this round
	inserted []insertion     // what has a leaf after this round
}

// A newCell is a cell to write.
type newCell struct {
	Step
	tree *Tree
	name string
	// absent is true when the table is known not to have the cell.
	absent bool
	// holder is the leaf that is there already. It has no TSUID if it could not be read.
	holder *schema.Leaf
}

// beginRound takes the cells that the insertions need, and that no call is known to have written or
// to be writing.
func (f *Forest) beginRound(p *observation) *insertionRound {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &insertionRound{forest: f, own: map[string]int{}, done: make(chan struct{})}
	f.index.mu.RLock()
	defer f.index.mu.RUnlock()
	for _, one := range p.todo {
		switch {
		case !c.insert(p, one):
			c.again = append(c.again, one)
		case one.hasLeaf():
			c.inserted = append(c.inserted, one)
		}
	}
	f.writes += len(c.cells)
	return c
}

// insert takes the cells that a series lacks. ok is false when the series must be looked at again
// after this round. The caller holds the locks.
func (c *insertionRound) insert(p *observation, one insertion) (ok bool) {
	route := one.route
	hasLeaf := one.hasLeaf()
	if !hasLeaf {
		route.Branches = nil
	}
	branch, known := c.forest.index.locate(one.tree.id, route.Branches)
	if hasLeaf && known > len(route.Branches) {
		if holder := c.forest.index.holder(branch, route.Leaf); holder != nil {
			p.collide(one, holder)
			return true
		}
	}
	row := schema.BranchRow(one.tree.id, route.Branches...)
	for depth := known; depth <= len(route.Branches); depth++ {
		if !c.takeBranch(one.tree, row, route.Branches[:depth]) {
			return false // another call writes a parent branch; look again when the index has it
		}
	}
	return !hasLeaf || c.takeLeaf(one, row)
}

// takeBranch takes the branch under these names. row is its own row, or that of a branch below it.
func (c *insertionRound) takeBranch(t *Tree, row []byte, names []string) (ok bool) {
	row = row[:len(row)-schema.ChildWidth*(schema.Depth(row)-len(names))]
	key := string(row) + branchColumn
	if _, ours := c.own[key]; ours {
		return true
	}
	name := schema.RootName
	if len(names) > 0 {
		name = names[len(names)-1]
	}
	return c.take(key, newCell{tree: t, name: name, Step: Step{Row: row, Qualifier: schema.BranchQualifier()}}, func() []byte {
		return branchValue(names)
	})
}

// takeLeaf takes the leaf of a series. ok is false when another series of this call has it.
func (c *insertionRound) takeLeaf(one insertion, row []byte) (ok bool) {
	step := Step{Row: row, Qualifier: schema.LeafQualifier(one.route.Leaf), Leaf: one.tsuid}
	key := string(row) + string(step.Qualifier)
	if at, ours := c.own[key]; ours {
		return bytes.Equal(c.cells[at].Leaf, one.tsuid)
	}
	return c.take(key, newCell{tree: one.tree, name: one.route.Leaf, Step: step}, func() []byte {
		return leafValue(one.route.Leaf, one.tsuid)
	})
}

// branchColumn is the column of branches in the keys of cells.
var branchColumn = string(schema.BranchQualifier())

// take takes a cell. ok is false when another call has it. document is called only if the cell is
// to be written.
func (c *insertionRound) take(key string, cell newCell, document func() []byte) (ok bool) {
	if other, taken := c.forest.inflight[key]; taken {
		if !slices.Contains(c.others, other) {
			c.others = append(c.others, other)
		}
		return false
	}
	cell.Value = document()
	cell.absent = c.forest.o.Exclusive && c.forest.complete && !c.forest.unsure[key]
	c.own[key] = len(c.cells)
	c.forest.inflight[key] = c.done
	c.cells = append(c.cells, cell)
	return true
}

// settle releases the cells, adds what was written to the index, and keeps what must be looked at
// again.
func (c *insertionRound) settle(p *observation, err error) {
	f := c.forest
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range c.own {
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
	slices.SortStableFunc(c.cells, func(a, b newCell) int { return a.depth() - b.depth() })
	for _, cell := range c.cells {
		if cell.holder != nil {
			p.collide(insertion{tree: cell.tree, tsuid: cell.Leaf}, cell.holder.TSUID)
		}
		c.index(cell)
	}
	c.place(p)
}

// place finds where the series are now. The caller holds the forest's lock.
func (c *insertionRound) place(p *observation) {
	f := c.forest
	f.index.mu.RLock()
	defer f.index.mu.RUnlock()
	for _, one := range c.inserted {
		where := f.index.place(one.tree.id, one.names(), one.tsuid)
		switch {
		case where == unknown && one.tries < maxTries: // another index came into use meanwhile, or the leaf cannot be read
			one.tries++
			p.todo = append(p.todo, one)
		case where == unknown, where == hashTaken:
			p.collided = append(p.collided, one)
		case where == shared:
			p.also = append(p.also, one)
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
func (c *insertionRound) index(cell newCell) {
	var ok bool
	var err error
	key, _ := schema.ParseBranchRow(cell.Row)
	switch leaf := cell.leaf(); {
	case cell.Leaf == nil:
		ok, err = c.forest.index.AddBranch(key, cell.name)
	case len(leaf.TSUID) > 0:
		ok, err = c.forest.index.AddLeaf(key, schema.NameHash(cell.name), leaf)
	default: // a leaf that could not be read is in no index
		return
	}
	c.forest.missed = c.forest.missed || !ok
	c.forest.complete = c.forest.complete && ok && err == nil
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

// mutations returns cells as mutations of rows.
func mutations(cells []newCell) []kv.Mutation {
	var rows []kv.Mutation
	at := map[string]int{}
	for _, cell := range cells {
		i, ok := at[string(cell.Row)]
		if !ok {
			i = len(rows)
			at[string(cell.Row)] = i
			rows = append(rows, kv.Mutation{Key: cell.Row})
		}
		rows[i].Puts = append(rows[i].Puts, kv.Put{Qualifier: cell.Qualifier, Value: cell.Value})
	}
	return rows
}

package tree

import (
	"bytes"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// claims are the cells that one round of one call writes; nobody else in this process does meanwhile.
type claims struct {
	forest *Forest
	cells  []claimed
	own    map[string]int // by row and qualifier: place in cells
	done   chan struct{}
	others []chan struct{} // of calls that write cells which plants of this one need
	again  []plant         // what has to wait for them, or for a leaf of this round
	hung   []plant         // what has a leaf after this round
}

// A claimed is a cell to write.
type claimed struct {
	Step
	tree *Tree
	name string
	// absent says that the table does not have the cell.
	absent bool
	// holder is the leaf that stands there already. Without a TSUID it could not be read.
	holder *schema.Leaf
}

// claim takes the cells that the plants need and that nobody is known to have written or to be writing.
func (f *Forest) claim(p *planting) *claims {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &claims{forest: f, own: map[string]int{}, done: make(chan struct{})}
	f.index.mu.RLock()
	defer f.index.mu.RUnlock()
	for _, one := range p.todo {
		switch {
		case !c.plant(p, one):
			c.again = append(c.again, one)
		case one.hasLeaf():
			c.hung = append(c.hung, one)
		}
	}
	f.writes += len(c.cells)
	return c
}

// plant claims what a series lacks; ok is false when it has to be looked at again after this round. The caller holds the locks.
func (c *claims) plant(p *planting, one plant) (ok bool) {
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
			return false // what hangs on another call's branch comes when that is in the index
		}
	}
	return !hasLeaf || c.takeLeaf(one, row)
}

// takeBranch claims the branch under these names; row is its own or that of a branch below it.
func (c *claims) takeBranch(t *Tree, row []byte, names []string) (ok bool) {
	row = row[:len(row)-schema.ChildWidth*(schema.Depth(row)-len(names))]
	key := string(row) + branchColumn
	if _, ours := c.own[key]; ours {
		return true
	}
	name := schema.RootName
	if len(names) > 0 {
		name = names[len(names)-1]
	}
	return c.take(key, claimed{tree: t, name: name, Step: Step{Row: row, Qualifier: schema.BranchQualifier()}}, func() []byte {
		return branchValue(names)
	})
}

// takeLeaf claims the leaf of a series; ok is false when another series of this call has it.
func (c *claims) takeLeaf(one plant, row []byte) (ok bool) {
	step := Step{Row: row, Qualifier: schema.LeafQualifier(one.route.Leaf), Leaf: one.tsuid}
	key := string(row) + string(step.Qualifier)
	if at, ours := c.own[key]; ours {
		return bytes.Equal(c.cells[at].Leaf, one.tsuid)
	}
	return c.take(key, claimed{tree: one.tree, name: one.route.Leaf, Step: step}, func() []byte {
		return leafValue(one.route.Leaf, one.tsuid)
	})
}

// branchColumn is the column of branches in the keys of cells.
var branchColumn = string(schema.BranchQualifier())

// take claims a cell; ok is false when another call has it. The document is made only if it is to be written.
func (c *claims) take(key string, cell claimed, document func() []byte) (ok bool) {
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

// settle gives the cells free, takes what was written into the index, and leaves what has to be looked at again.
func (c *claims) settle(p *planting, err error) {
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
	slices.SortStableFunc(c.cells, func(a, b claimed) int { return a.depth() - b.depth() })
	for _, cell := range c.cells {
		if cell.holder != nil {
			p.collide(plant{tree: cell.tree, tsuid: cell.Leaf}, cell.holder.TSUID)
		}
		c.index(cell)
	}
	c.place(p)
}

// place looks where the series are now. The caller holds the forest's lock.
func (c *claims) place(p *planting) {
	f := c.forest
	f.index.mu.RLock()
	defer f.index.mu.RUnlock()
	for _, one := range c.hung {
		where := f.index.place(one.tree.id, one.names(), one.tsuid)
		switch {
		case where == unknown && one.tries < maxTries: // another index came into use meanwhile, or the leaf cannot be read
			one.tries++
			p.todo = append(p.todo, one)
		case where == unknown, where == astray:
			p.strays = append(p.strays, one)
		case where == shared:
			p.also = append(p.also, one)
		}
	}
}

// maxTries is how often the cells of a series are claimed that are not in the index afterwards.
const maxTries = 3

// maxUnsure is how many cells are remembered as perhaps written. Beyond that the table is asked for all of them.
const maxUnsure = 1 << 20

// index takes a cell into the index in use. One that is just being loaded may lack the branch that it hangs on.
func (c *claims) index(cell claimed) {
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

// leaf is what stands there now.
func (c *claimed) leaf() schema.Leaf {
	if c.holder != nil {
		return *c.holder
	}
	return schema.Leaf{DisplayName: c.name, TSUID: c.Leaf}
}

// depth orders cells as they hang on each other: branches from the root downwards, leaves.
func (c *claimed) depth() int {
	if c.Leaf != nil {
		return kv.MaxKeyLength + 1
	}
	return len(c.Row)
}

// collide notes a series whose leaf another one has. It may do so in several rounds.
func (p *planting) collide(one plant, holder []byte) {
	if bytes.Equal(holder, one.tsuid) {
		return
	}
	if m, ok := one.tree.Collision(one.tsuid, holder); ok {
		p.fail(m)
	}
}

// mutations are cells as changes of rows.
func mutations(cells []claimed) []kv.Mutation {
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

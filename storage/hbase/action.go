package hbase

import "github.com/tsdbridge/tsdbridge/storage/kv"

// An action is what a batch does with one row. Its bytes belong to the batch: a request can be in
// the writing after the operation that asked for it has ended.
type action struct {
	row int // the caller's number of the row
	key []byte
	// get is the part of a read after its row key (see getTail and historyTail); it is nil for a
	// mutation.
	get []byte
	// puts and deletes are the numbers of cells of each kind; where both are above 0 they happen
	// together.
	puts, deletes int
	cells         []byte // of the mutations, the puts first
	// condition is the RegionAction's field of that name, if the mutations depend on the row; made
	// is the answer to it.
	condition []byte
	made      bool
}

// joint means that the row is changed by two mutations, which HBase must make as one.
func (a *action) joint() bool { return a.puts > 0 && a.deletes > 0 }

// alone means that the action is a RegionAction of its own.
func (a *action) alone() bool { return a.joint() || a.condition != nil }

// encodeMutations makes the actions for some of the rows. All cells lie in one piece of memory, one
// after the other, so that they are sent in one piece too; the keys are those in the cells.
func encodeMutations(family string, rows []kv.Mutation, chosen []int) []action {
	size := 0
	for _, i := range chosen {
		size += mutationSize(family, &rows[i])
	}
	actions := make([]action, len(chosen))
	cells := make([]byte, 0, size)
	for n, i := range chosen {
		begin := len(cells)
		cells = actions[n].encode(cells, family, &rows[i])
		actions[n].row = i
		actions[n].cells = cells[begin:]
		actions[n].key = keyOf(actions[n].cells)
	}
	return actions
}

// encodeConditionals makes the actions for some of the rows that depend on what these hold.
func encodeConditionals(family string, rows []kv.Conditional, mutations []kv.Mutation, chosen []int) []action {
	actions := encodeMutations(family, mutations, chosen)
	for n, i := range chosen {
		actions[n].condition = conditionField(family, &rows[i])
	}
	return actions
}

// encode appends the cells of a row's mutations and counts them.
func (a *action) encode(cells []byte, family string, m *kv.Mutation) []byte {
	for _, p := range m.Puts {
		cells = appendCell(cells, m.Key, family, p.Qualifier, p.Value, p.Time, typePut)
	}
	for _, d := range m.Deletes {
		cells = appendCell(cells, m.Key, family, d.Qualifier, nil, d.Time, typeDeleteColumn)
	}
	a.puts, a.deletes = len(m.Puts), len(m.Deletes)
	if m.DeleteRow {
		cells = appendCell(cells, m.Key, family, nil, nil, m.RowTime, typeDeleteFamily)
		a.deletes = 1
	}
	return cells
}

// mutationSize returns the number of bytes of the cells that encode appends.
func mutationSize(family string, m *kv.Mutation) int {
	size := 0
	for i := range m.Puts {
		size += cellSize(m.Key, family, m.Puts[i].Qualifier, m.Puts[i].Value)
	}
	for i := range m.Deletes {
		size += cellSize(m.Key, family, m.Deletes[i].Qualifier, nil)
	}
	if m.DeleteRow {
		size += cellSize(m.Key, family, nil, nil)
	}
	return size
}

// encodeGets makes the actions that read the rows of some of the keys, with their keys in one piece
// of memory. tail is the part of each after the row key.
func encodeGets(tail []byte, keys [][]byte, chosen []int) []action {
	size := 0
	for _, i := range chosen {
		size += len(keys[i])
	}
	actions := make([]action, len(chosen))
	memory := make([]byte, 0, size)
	for n, i := range chosen {
		begin := len(memory)
		memory = append(memory, keys[i]...)
		actions[n] = action{row: i, key: memory[begin:], get: tail}
	}
	return actions
}

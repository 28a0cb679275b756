package kvtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A stampCase changes a row in steps, one Apply each, which are separated by semicolons; changes of
// one Apply by commas:
//
//	q=v@20   puts the value v into the cell q with the stamp 20; @0 is the engine's clock
//	-q@20    deletes the cell q with the stamp 20
//	-@20     deletes the row
//	!q@20    deletes the version 20 of q alone, which no Apply can; !@20 of all cells
//
// Only the qualifiers q and r occur.
type stampCase struct {
	steps string
	read  string // the cells that are read then, of a Versioned engine
	one   string // and of one whose own clock stamps them; empty: it cannot do the steps
	// hidden and deletes are the rest of the History; "now" is a stamp of the engine's clock.
	hidden, deletes string
}

var stampCases = []stampCase{
	{"q=1@20", "q=1@20", "q=1", "", ""},
	{"q=1@20; q=2@30", "q=2@30", "q=2", "q=1@20", ""},
	{"q=1@20; q=2@10", "q=1@20", "q=2", "q=2@10", ""},
	{"q=1@20; q=2@20", "q=2@20", "q=2", "", ""},
	{"q=1@20; q=2@10; q=3@15; q=4@30", "q=4@30", "q=4", "q=1@20 q=3@15 q=2@10", ""},
	{"q=1@20; q=2@0", "q=2@now", "q=2", "q=1@20", ""},
	{"q=1@0; q=2@20", "q=1@now", "q=2", "q=2@20", ""},
	{"q=1@20,r=2@10; q=3@15,r=4@15", "q=1@20 r=4@15", "q=3 r=4", "q=3@15 r=2@10", ""},
	{"q=1@20; -q@10", "q=1@20", "-", "", "-q@10"},
	{"q=1@20; -q@20", "", "-", "q=1@20", "-q@20"},
	{"q=1@20; -q@30", "", "-", "q=1@20", "-q@30"},
	{"q=1@20; -q@0", "", "-", "q=1@20", "-q@now"},
	{"q=1@20; q=2@30; -q@20", "q=2@30", "-", "q=1@20", "-q@20"},
	{"q=1@20; q=2@30; -q@30", "", "-", "q=2@30 q=1@20", "-q@30"},
	{"q=1@20; q=2@30; -q@29; -q@10", "q=2@30", "-", "q=1@20", "-q@29 -q@10"},
	{"q=1@20,r=1@20; -@10", "q=1@20 r=1@20", "-", "", "-@10"},
	{"q=1@20,r=1@30; -@20", "r=1@30", "-", "q=1@20", "-@20"},
	{"q=1@20,r=1@30; -@30", "", "-", "q=1@20 r=1@30", "-@30"},
	{"q=1@20,r=1@30; -@0", "", "-", "q=1@20 r=1@30", "-@now"},
	{"-q@20; q=1@10", "", "q=1", "q=1@10", "-q@20"},
	{"-q@20; q=1@20", "", "q=1", "q=1@20", "-q@20"},
	{"-q@20; q=1@21", "q=1@21", "q=1", "", "-q@20"},
	{"-q@20; q=1@0", "q=1@now", "q=1", "", "-q@20"},
	{"-q@0; q=1@0", "q=1@now", "q=1", "", "-q@now"},
	{"-q@0; q=1@20", "", "q=1", "q=1@20", "-q@now"},
	{"-@20; q=1@20,r=1@21", "r=1@21", "q=1 r=1", "q=1@20", "-@20"},
	{"-@0; q=1@20,r=1@0", "r=1@now", "q=1 r=1", "q=1@20", "-@now"},
	{"q=1@20; -@25; q=2@30; q=3@24", "q=2@30", "q=3", "q=3@24 q=1@20", "-@25"},
	{"q=1@20,r=1@20; -q@20,r=2@25; r=3@22", "r=2@25", "r=3", "q=1@20 r=3@22 r=1@20", "-q@20"},
	{"q=1@20,r=1@30; -q@19,-r@40", "q=1@20", "-", "r=1@30", "-q@19 -r@40"},
	{"-@20; -q@30; q=1@25,r=1@25", "r=1@25", "q=1 r=1", "q=1@25", "-@20 -q@30"},
	{"q=1@20; q=2@30; !q@30", "q=1@20", "", "q=2@30", "!q@30"},
	{"q=1@20; q=2@30; !q@20", "q=2@30", "", "q=1@20", "!q@20"},
	{"q=1@20; !q@25", "q=1@20", "", "", "!q@25"},
	{"q=1@20,r=1@30; !@20", "r=1@30", "", "q=1@20", "!@20"},
	{"q=1@20; -q@20; !q@30; q=2@30,r=1@0", "r=1@now", "", "q=2@30 q=1@20", "!q@30 -q@20"},
}

// testStamps depends on the kind of the engine: an engine that is not Versioned ignores stamps.
func testStamps(s *suite) {
	_, versioned := s.kv.(kv.Versioned)
	for i, c := range stampCases {
		if c.one == "" {
			continue
		}
		key := fmt.Sprint(i)
		s.steps(key, c.steps, nil)
		row := s.get(key)[0]
		got, want := cellTexts(row.Cells, versioned), c.read
		if !versioned {
			want = strings.TrimPrefix(c.one, "-")
		}
		if got != want {
			s.Errorf("%s: %q is read, want %q", c.steps, got, want)
		}
	}
}

// steps carries out the steps of a stampCase.
func (s *suite) steps(key, steps string, exact func(key, qualifier []byte, time int64)) {
	s.Helper()
	for step := range strings.SplitSeq(steps, "; ") {
		if rest, ok := strings.CutPrefix(step, "!"); ok {
			q, time := s.stamped(rest)
			var qualifier []byte
			if q != "" {
				qualifier = []byte(q)
			}
			exact(s.key(key), qualifier, time)
			continue
		}
		m := kv.Mutation{Key: s.key(key)}
		s.addChanges(&m, step)
		s.apply(m)
	}
}

// addChanges adds the changes of one step.
func (s *suite) addChanges(m *kv.Mutation, step string) {
	s.Helper()
	for change := range strings.SplitSeq(step, ",") {
		s.addChange(m, change)
	}
}

func (s *suite) addChange(m *kv.Mutation, change string) {
	s.Helper()
	what, time := s.stamped(change)
	q, v, put := strings.Cut(what, "=")
	switch {
	case put:
		m.Puts = append(m.Puts, kv.Put{Qualifier: []byte(q), Value: []byte(v), Time: time})
	case what == "-":
		m.DeleteRow, m.RowTime = true, time
	default:
		m.Deletes = append(m.Deletes, kv.Delete{Qualifier: []byte(what[1:]), Time: time})
	}
}

func (s *suite) stamped(text string) (what string, time int64) {
	s.Helper()
	what, stamp, _ := strings.Cut(text, "@")
	time, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return what, time
}

// stampText returns a stamp as in a stampCase.
func stampText(time int64) string {
	if time > 1000 {
		return "@now"
	}
	return fmt.Sprint("@", time)
}

// cellTexts are cells as in a stampCase, with their stamps or without.
func cellTexts(cells []kv.Cell, stamps bool) string {
	var all []string
	for _, c := range cells {
		text := string(c.Qualifier) + "=" + string(c.Value)
		if stamps {
			text += stampText(c.Time)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// hiddenTexts are cells in the order of their qualifiers and, newest first, of their stamps.
func hiddenTexts(cells []kv.Cell) string {
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b kv.Cell) int {
		if n := strings.Compare(string(a.Qualifier), string(b.Qualifier)); n != 0 {
			return n
		}
		return int(b.Time - a.Time)
	})
	return cellTexts(cells, true)
}

// tombstoneTexts are deletions in the order of their qualifiers and, newest first, of their stamps.
func tombstoneTexts(deletes []kv.Tombstone) string {
	deletes = slices.Clone(deletes)
	slices.SortStableFunc(deletes, func(a, b kv.Tombstone) int {
		if n := strings.Compare(string(a.Qualifier), string(b.Qualifier)); n != 0 {
			return n
		}
		return int(b.Time - a.Time)
	})
	var all []string
	for _, t := range deletes {
		text := "-"
		if t.Exact {
			text = "!"
		}
		all = append(all, text+string(t.Qualifier)+stampText(t.Time))
	}
	return strings.Join(all, " ")
}

package kvtest

import (
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A conditionalCase is a row that is read, changed by others and then changed if it is as it was
// read. The steps are those of a stampCase.
type conditionalCase struct {
	before, others, change string
	made                   bool
	again                  string // steps after the change
	read                   string // what is read at the end
}

var conditionalCases = []conditionalCase{
	{"q=1@20,r=1@30", "", "s=all@30,-q@20,-r@30", true, "", "s=all@30"},
	{"q=1@20,r=1@30", "x=1@40", "s=all@30,-q@20,-r@30", false, "", "q=1@20 r=1@30 x=1@40"},
	{"q=1@20,r=1@30", "x=1@0", "s=all@30,-q@20,-r@30", false, "", "q=1@20 r=1@30 x=1@now"},
	{"q=1@20,r=1@30", "q=2@31", "s=all@30,-q@20,-r@30", false, "", "q=2@31 r=1@30"},
	{"q=1@20,r=1@30", "-q@20", "s=all@30,-q@20,-r@30", false, "", "r=1@30"},
	{"q=1@20,r=1@30", "-@25", "s=all@30,-q@20,-r@30", false, "", "r=1@30"},
	{"q=1@20,r=1@30", "-@0", "s=all@30,-q@20,-r@30", false, "", ""},
	{"q=1@20,r=1@30", "q=1@20", "s=all@30,-q@20,-r@30", true, "", "s=all@30"},
	{"q=1@20,r=1@30", "q=0@10", "s=all@30,-q@20,-r@30", true, "", "s=all@30"},
	{"q=0@10; q=1@20,r=1@30", "", "s=all@30,-q@20,-r@30", true, "", "s=all@30"},
	{"q=1@20,r=1@30", "", "s=all@30,-q@20,-r@30", true, "q=2@21", "q=2@21 s=all@30"},
	{"q=1@20,r=1@30", "", "s=all@30,-q@20,-r@30", true, "q=2@0", "q=2@now s=all@30"},
	{"q=1@20,r=1@30", "", "s=all@30,-q@20,-r@30", true, "q=2@20", "s=all@30"},
	{"q=1@20,r=1@30", "", "s=all@30,-q@20,-r@30", true, "-@30", ""},
	{"q=1@20,r=1@30", "", "q=2@40", true, "", "q=2@40 r=1@30"},
	{"q=1@20,r=1@30", "", "-q@20", true, "", "r=1@30"},
	{"q=1@20,r=1@20", "r=2@40", "-q@20", false, "", "q=1@20 r=2@40"},
}

// testUnchanged changes rows that are as they were read, and leaves those that are not: all of the
// cases in one call.
func (v *versionedSuite) testUnchanged() {
	var rows []kv.Conditional
	key := func(i int) string { return fmt.Sprint("unchanged/", i) }
	for i, c := range conditionalCases {
		v.steps(key(i), c.before, nil)
		m := kv.Conditional{Mutation: kv.Mutation{Key: v.key(key(i))}, Read: v.get(key(i))[0].Cells}
		v.addChanges(&m.Mutation, c.change)
		if rows = append(rows, m); c.others != "" {
			v.steps(key(i), c.others, nil)
		}
	}
	made, err := v.engine.ApplyUnchanged(v.Context(), dataTable, dataFamily, rows)
	if err != nil || len(made) != len(rows) {
		v.Fatalf("%d answers, %v", len(made), err)
	}
	for i, c := range conditionalCases {
		if c.again != "" {
			v.steps(key(i), c.again, nil)
		}
		if got := cellTexts(v.get(key(i))[0].Cells, true); got != c.read || made[i] != c.made {
			v.Errorf("%s; others: %s; change: %s; %s: made %v, %q is read, want %v, %q", c.before, c.others, c.change, c.again, made[i], got, c.made, c.read)
		}
	}
	v.testUnchangedInvalid()
	v.testUnchangedCell()
}

// cellCases are rows of which one cell is compared: q with the value of expect, none if that is
// empty.
var cellCases = []struct {
	before, expect, change string
	made                   bool
	read                   string
}{
	{"", "", "q=1@20", true, "q=1@20"},
	{"r=1@10", "", "q=1@20,-r@10", true, "q=1@20"},
	{"q=1@20", "", "q=2@30", false, "q=1@20"},
	{"", "1", "q=2@30", false, ""},
	{"q=1@20", "1", "q=2@30", true, "q=2@30"},
	{"q=1@20; q=12@20", "1", "q=2@30", false, "q=12@20"}, // the same stamp
	{"q=1@20; q=12@40", "1", "q=2@30", false, "q=12@40"},
	{"q=1@20,r=1@10; r=2@40", "1", "q=2@30,-r@10", true, "q=2@30 r=2@40"},
	{"q=1@20; -q@25", "", "q=2@30", true, "q=2@30"},
	{"q=1@20; -@25", "1", "q=2@30", false, ""},
}

// testUnchangedCell changes rows of which one cell is as it was, and leaves the others.
func (v *versionedSuite) testUnchangedCell() {
	v.Helper()
	var rows []kv.Conditional
	key := func(i int) string { return fmt.Sprint("cell/", i) }
	for i, c := range cellCases {
		if c.before != "" {
			v.steps(key(i), c.before, nil)
		}
		m := kv.Conditional{Mutation: kv.Mutation{Key: v.key(key(i))}, Cell: &kv.Expected{Qualifier: []byte("q"), Value: []byte(c.expect)}}
		v.addChanges(&m.Mutation, c.change)
		rows = append(rows, m)
	}
	made, err := v.engine.ApplyUnchanged(v.Context(), dataTable, dataFamily, rows)
	if err != nil || len(made) != len(rows) {
		v.Fatalf("%d answers, %v", len(made), err)
	}
	for i, c := range cellCases {
		if got := cellTexts(v.get(key(i))[0].Cells, true); got != c.read || made[i] != c.made {
			v.Errorf("%s; change if q is %q: %s: made %v, %q is read, want %v, %q", c.before, c.expect, c.change, made[i], got, c.made, c.read)
		}
	}
}

// testUnchangedInvalid compares rows with nothing.
func (v *versionedSuite) testUnchangedInvalid() {
	v.Helper()
	rows := []kv.Conditional{{Mutation: v.puts("nothing", "q", "1")}}
	if _, err := v.engine.ApplyUnchanged(v.Context(), dataTable, dataFamily, rows); !errors.Is(err, kv.ErrInvalid) {
		v.Errorf("compared with no cells: %v", err)
	}
	if got := v.get("nothing")[0].Cells; len(got) > 0 {
		v.Errorf("compared with no cells: %q is read", cellTexts(got, true))
	}
	if made, err := v.engine.ApplyUnchanged(v.Context(), dataTable, dataFamily, nil); err != nil || len(made) > 0 {
		v.Errorf("no rows: %v, %v", made, err)
	}
}

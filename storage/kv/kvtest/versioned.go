package kvtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// An Owner does to the tables of a Versioned engine what kv.KV cannot do. All its functions act on
// the data table of Tables.
type Owner struct {
	// DeleteExact deletes the version of this time alone, of one cell or (nil) of the whole row.
	DeleteExact func(t *testing.T, key, qualifier []byte, time int64)
	// Flush writes what is in memory to files, where an engine may drop what is hidden; nil: it has
	// no files.
	Flush func(t *testing.T)
	// Compact drops all that is hidden, and the deletions.
	Compact func(t *testing.T)
}

// RunVersioned tests an engine against the contract of kv.Versioned; Run tests the rest. The engine
// is opened once, with empty Tables.
func RunVersioned(t *testing.T, open func(t *testing.T) (kv.KV, Owner)) {
	engine, owner := open(t)
	v := &versionedSuite{suite: suite{T: t, kv: engine, name: "versioned"}, engine: engine.(kv.Versioned), owner: owner}
	for i, c := range stampCases {
		v.steps(fmt.Sprint(i), c.steps, func(key, q []byte, time int64) { owner.DeleteExact(t, key, q, time) })
	}
	v.part("history", (*versionedSuite).testHistory)
	v.part("keys", (*versionedSuite).testKeys)
	v.part("copies", (*versionedSuite).testCopies)
	v.part("wide", (*versionedSuite).testWide)
	v.part("bounded", (*versionedSuite).testBounded)
	v.part("random", (*versionedSuite).testRandom)
	v.part("unchanged", (*versionedSuite).testUnchanged)
	t.Run("split", func(t *testing.T) { testSplit(&suite{T: t, kv: engine, name: "split"}, v.engine) })
	t.Run("get_stored", func(t *testing.T) { testGetStored(&suite{T: t, kv: engine, name: "get_stored"}, v.engine) })
	t.Run("scan_stored", func(t *testing.T) { testScanStored(&suite{T: t, kv: engine, name: "scan_stored"}, v.engine) })
	if owner.Flush != nil {
		owner.Flush(t)
		v.part("flushed", func(v *versionedSuite) { v.testRest(true) })
	}
	owner.Compact(t)
	v.part("compacted", func(v *versionedSuite) { v.testRest(false) })
	v.part("forgotten", (*versionedSuite).testForgotten)
}

type versionedSuite struct {
	suite
	engine kv.Versioned
	owner  Owner
}

func (v *versionedSuite) part(name string, run func(*versionedSuite)) {
	v.Run(name, func(t *testing.T) {
		part := *v
		part.T = t
		run(&part)
	})
}

func (v *versionedSuite) history(keys ...string) []kv.History {
	v.Helper()
	var raw [][]byte
	for _, k := range keys {
		raw = append(raw, v.key(k))
	}
	all, err := v.engine.History(v.Context(), dataTable, dataFamily, raw)
	if err != nil {
		v.Fatal(err)
	}
	if len(all) != len(keys) {
		v.Fatalf("%d histories for %d keys", len(all), len(keys))
	}
	return all
}

// testHistory checks rows of which the engine has dropped nothing yet.
func (v *versionedSuite) testHistory() {
	for i, c := range stampCases {
		h := v.history(fmt.Sprint(i))[0]
		if got := cellTexts(h.Cells, true); got != c.read {
			v.Errorf("%s: %q is read, want %q", c.steps, got, c.read)
		}
		if got := hiddenTexts(h.Hidden); got != c.hidden {
			v.Errorf("%s: %q is hidden, want %q", c.steps, got, c.hidden)
		}
		if got := tombstoneTexts(h.Deletes); got != c.deletes {
			v.Errorf("%s: deletions %q, want %q", c.steps, got, c.deletes)
		}
	}
	v.sameAsGet()
}

// sameAsGet compares the cells of History with those of Get and Scan.
func (v *versionedSuite) sameAsGet() {
	v.Helper()
	var keys []string
	for i := range stampCases {
		keys = append(keys, fmt.Sprint(i))
	}
	rows := v.get(keys...)
	read := 0
	for i, h := range v.history(keys...) {
		if diff := cmp.Diff(rows[i], h.Row); diff != "" {
			v.Errorf("%s: Get and History differ (-Get +History):\n%s", stampCases[i].steps, diff)
		}
		if len(h.Cells) > 0 {
			read++
		}
	}
	scan := v.all()
	scan.Stop = v.key(":") // follows the digits
	if rows := v.scan(scan); len(rows) != read {
		v.Errorf("Scan gives %d rows, Get %d", len(rows), read)
	}
}

// testRest checks the rows after the engine may have dropped some of their history: reads return
// the same, and the rest of the history contains nothing new.
func (v *versionedSuite) testRest(deletes bool) {
	for i, c := range stampCases {
		h := v.history(fmt.Sprint(i))[0]
		if got := cellTexts(h.Cells, true); got != c.read {
			v.Errorf("%s: %q is read, want %q", c.steps, got, c.read)
		}
		for word := range strings.FieldsSeq(hiddenTexts(h.Hidden)) {
			if !slices.Contains(strings.Fields(c.hidden), word) {
				v.Errorf("%s: %s is hidden, which it was not", c.steps, word)
			}
		}
		got := tombstoneTexts(h.Deletes)
		if !deletes && got+hiddenTexts(h.Hidden) != "" {
			v.Errorf("%s: %q and the deletions %q are left", c.steps, hiddenTexts(h.Hidden), got)
		}
		if deletes {
			v.wantDeletes(c, strings.Fields(got))
		}
	}
	v.sameAsGet()
}

// wantDeletes compares deletions with those of the case. A deletion may be missing if others hide
// all that it hides.
func (v *versionedSuite) wantDeletes(c stampCase, got []string) {
	want := strings.Fields(c.deletes)
	for _, word := range got {
		if !slices.Contains(want, word) {
			v.Errorf("%s: deletion %s, want %q", c.steps, word, c.deletes)
		}
	}
	for _, word := range want {
		if !slices.ContainsFunc(got, func(by string) bool { return by == word || covers(by, word) }) {
			v.Errorf("%s: deletions %q, and none is or covers %s", c.steps, got, word)
		}
	}
}

// covers reports whether a deletion, as in a stampCase, hides all that another does.
func covers(by, other string) bool {
	q, time, _ := strings.Cut(by[1:], "@")
	otherQ, otherTime, _ := strings.Cut(other[1:], "@")
	n, _ := strconv.Atoi(strings.Replace(time, "now", "1000", 1))
	otherN, _ := strconv.Atoi(strings.Replace(otherTime, "now", "1000", 1))
	return by[0] == '-' && (q == "" || q == otherQ) && n >= otherN
}

// testForgotten puts cells again that a deletion had hidden until the engine dropped the deletion.
func (v *versionedSuite) testForgotten() {
	for i, c := range stampCases {
		if c.read != "" {
			continue
		}
		key := fmt.Sprint(i)
		v.steps(key, "q=back@1", nil)
		if got := cellTexts(v.get(key)[0].Cells, true); got != "q=back@1" {
			v.Errorf("%s, and q put after all was dropped: %q is read", c.steps, got)
		}
	}
}

// testKeys asks for many rows at once, some absent, twice or impossible.
func (v *versionedSuite) testKeys() {
	const n = 1500
	var rows []kv.Mutation
	var keys []string
	for i := range n {
		key := fmt.Sprintf("many/%04d", i)
		rows = append(rows, kv.Mutation{Key: v.key(key), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte(key), Time: int64(1 + i)}}})
		keys = append(keys, key, key+"absent")
	}
	v.apply(rows...)
	for i := range rows {
		rows[i].Puts[0].Time++
	}
	v.apply(rows[n/2:]...)
	slices.Reverse(keys)
	for i, h := range v.history(append(keys, keys[0], keys[1])...) {
		key := append(keys, keys[0], keys[1])[i]
		want := 1
		if strings.HasSuffix(key, "absent") {
			want = 0
		}
		if string(h.Key) != string(v.key(key)) || len(h.Cells) != want || want == 1 && string(h.Cells[0].Value) != key {
			v.Fatalf("answer %d is %q with %q, want %s with %d cells", i, h.Key, cellTexts(h.Cells, true), key, want)
		}
		if old := want == 1 && key >= fmt.Sprintf("many/%04d", n/2); old != (len(h.Hidden) == 1) {
			v.Fatalf("%s has %d hidden cells", key, len(h.Hidden))
		}
	}
	if all := v.history(); len(all) != 0 {
		v.Errorf("%d histories of no keys", len(all))
	}
	if all, err := v.engine.History(v.Context(), dataTable, dataFamily, [][]byte{nil}); err != nil || len(all) != 1 || len(all[0].Cells) != 0 {
		v.Errorf("the history of the empty key is %v, %v", all, err)
	}
}

// testCopies overwrites all slices that were returned: the rows stay as they are.
func (v *versionedSuite) testCopies() {
	v.steps("copies", "q=old@10; q=new@20; -q@11,r=1@20", nil)
	for range 2 {
		h := v.history("copies")[0]
		if got := hiddenTexts(h.Hidden) + " " + tombstoneTexts(h.Deletes) + " " + cellTexts(h.Cells, true); got != "q=old@10 -q@11 q=new@20 r=1@20" {
			v.Fatalf("history %q", got)
		}
		_ = append(h.Cells[0].Value, "grown into the next cell"...)
		for _, c := range append(h.Cells, h.Hidden...) {
			copy(c.Value, "zzzz")
			copy(c.Qualifier, "z")
		}
		copy(h.Deletes[0].Qualifier, "z")
		copy(h.Key, "zzzz")
	}
}

// testBounded has more versions of a cell than an engine may return: the latest are returned.
func (v *versionedSuite) testBounded() {
	const n, least = 150, 50
	for i := range n {
		v.apply(kv.Mutation{Key: v.key("bounded"), Puts: []kv.Put{
			{Qualifier: []byte("q"), Value: fmt.Append(nil, i), Time: int64(1 + i)}, {Qualifier: []byte("r"), Time: 1},
		}})
	}
	h := v.history("bounded")[0]
	if got := cellTexts(h.Cells, true); got != "q=149@150 r=@1" {
		v.Errorf("%d versions: %q is read", n, got)
	}
	slices.SortFunc(h.Hidden, func(a, b kv.Cell) int { return int(b.Time - a.Time) })
	if len(h.Hidden) < least {
		v.Fatalf("%d versions: %d are hidden", n, len(h.Hidden))
	}
	for i, c := range h.Hidden {
		if want := int64(n - 1 - i); c.Time != want || string(c.Value) != fmt.Sprint(want-1) {
			v.Fatalf("hidden version %d is %s of %d, want %d of %d", i, c.Value, c.Time, want-1, want)
		}
	}
}

// testWide has a row as a TSD's compaction leaves it: an hour of cells of one point, deleted, and
// the cell of all of them.
func (v *versionedSuite) testWide() {
	const n = 3600
	single := kv.Mutation{Key: v.key("wide")}
	merged := kv.Mutation{Key: v.key("wide"), Puts: []kv.Put{{Qualifier: []byte("~"), Value: []byte("all"), Time: 30}}}
	for i := range n {
		q := fmt.Appendf(nil, "%04d", i)
		single.Puts = append(single.Puts, kv.Put{Qualifier: q, Value: []byte("v"), Time: 20})
		merged.Deletes = append(merged.Deletes, kv.Delete{Qualifier: q, Time: 30})
	}
	v.apply(single)
	v.apply(merged)
	h := v.history("wide")[0]
	if len(h.Hidden) != n || len(h.Deletes) != n || cellTexts(h.Cells, true) != "~=all@30" {
		v.Errorf("%d hidden cells and %d deletions of %d, read %s", len(h.Hidden), len(h.Deletes), n, cellTexts(h.Cells, true))
	}
}

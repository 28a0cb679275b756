package forest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// checked is a tree of the hosts and metrics of some series, with their rows of tsdb-meta.
type checked struct {
	*testing.T
	db      kv.KV
	o       Options
	catalog listed
}

func newChecked(t *testing.T, db kv.KV) *checked {
	c := &checked{T: t, db: db, o: DefaultOptions()}
	_, c.o.Exclusive = db.(*kv.Mem)
	rules := []schema.TreeRule{{Type: "TAGK", Field: "host", TreeID: 1}, {Type: "METRIC", Separator: "[.]", Level: 1, TreeID: 1}}
	row := kv.Mutation{Key: schema.TreeRow(1), Puts: []kv.Put{{Qualifier: schema.TreeQualifier(), Value: schema.Tree{Name: "t", Enabled: true, StoreFailures: true}.AppendTo(nil)}}}
	for _, r := range rules {
		row.Puts = append(row.Puts, kv.Put{Qualifier: schema.RuleQualifier(r.Level, r.Order), Value: r.AppendTo(nil)})
	}
	c.apply("tsdb-tree", schema.FamilyData, row)
	for i, name := range []string{"a.b host=h1", "a.c host=h1", "a.b host=h2 x=1", "a.b host=h2 x=2", "BB.two host=h3", "Aa.two host=h3"} {
		words := strings.Fields(name)
		s := NewSeries{TSUID: []byte{0, 0, byte(i + 1), 0, 0, 1, 0, 0, 1}, Series: storage.Series{Metric: words[0]}}
		for _, tag := range words[1:] {
			key, value, _ := strings.Cut(tag, "=")
			s.Tags = append(s.Tags, storage.Tag{Key: key, Value: value})
		}
		c.catalog.series = append(c.catalog.series, s)
		c.apply("tsdb-meta", schema.FamilyMeta, kv.Mutation{Key: s.TSUID, Puts: []kv.Put{{Qualifier: schema.CounterQualifier(), Value: schema.EncodeCounter(1)}}})
	}
	f := New(db, c.o)
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Observe(t.Context(), c.catalog.series); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *checked) apply(table, family string, m kv.Mutation) {
	c.Helper()
	if err := c.db.Apply(c.Context(), table, family, []kv.Mutation{m}); err != nil {
		c.Fatal(err)
	}
}

func (c *checked) put(row, qualifier []byte, value string) {
	c.Helper()
	c.apply("tsdb-tree", schema.FamilyData, kv.Mutation{Key: row, Puts: []kv.Put{{Qualifier: qualifier, Value: []byte(value)}}})
}

func (c *checked) remove(row, qualifier []byte) {
	c.Helper()
	c.apply("tsdb-tree", schema.FamilyData, kv.Mutation{Key: row, Deletes: []kv.Delete{{Qualifier: qualifier}}})
}

// cells counts those of tsdb-tree.
func (c *checked) cells() (n int) {
	c.Helper()
	for r, err := range c.db.Scan(c.Context(), kv.Scan{Table: "tsdb-tree", Family: schema.FamilyData}) {
		if err != nil {
			c.Fatal(err)
		}
		n += len(r.Cells)
	}
	return n
}

// check returns the kinds that are found, and how often.
func (c *checked) check(mends bool, fix ...fsck.Kind) map[string]int {
	c.Helper()
	found := map[string]int{}
	checker := NewChecker(c.db, CheckOptions{Options: c.o, MetaTable: "tsdb-meta", Catalog: c.catalog, Mends: mends})
	_, err := fsck.Run(c.Context(), checker, fsck.RunOptions{
		Query: fsck.Query{Fix: fix}, Parallel: 2, Every: time.Hour, Now: time.Now,
		Found: func(f fsck.Finding) {
			word := string(f.Kind)
			if f.Mended {
				word += " mended"
			}
			if f.Left != "" {
				word += " left"
			}
			found[word] += f.Count
		},
	})
	if err != nil {
		c.Fatal(err)
	}
	return found
}

func treeEngines() map[string]kv.KV {
	tables := []kv.Table{
		{Name: "tsdb-tree", Families: []string{schema.FamilyData}},
		{Name: "tsdb-meta", Families: []string{schema.FamilyMeta}},
		{Name: "tsdb-uid", Families: []string{schema.FamilyID, schema.FamilyName}},
	}
	return map[string]kv.KV{"local": kv.NewMem(tables...), "shared": kv.NewShared(tables...)}
}

// What a forest writes has no findings: leaves, shared leaves and collided ones.
func TestCheckSound(t *testing.T) {
	for name, db := range treeEngines() {
		c := newChecked(t, db)
		c.put([]byte("\x00\x00tsdbridge.closed:x"), []byte("q"), "v")
		if found := c.check(true); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// Each kind of damage is found and, where it can be, mended once.
func TestCheckDamage(t *testing.T) {
	all, err := fsck.ParseFix(fsck.FixAll)
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(name string, tsuid string) string {
		return fmt.Sprintf(`{"displayName":%q,"tsuid":%q}`, name, tsuid)
	}
	for _, test := range []struct {
		name   string
		damage func(c *checked)
		want   map[string]int // with all mends
		left   map[string]int // after that
	}{
		{"key", func(c *checked) { c.put([]byte{0, 1, 9}, []byte("q"), "v") }, map[string]int{"bad-tree-row": 1}, map[string]int{"bad-tree-row": 1}},
		{"removed tree", func(c *checked) {
			c.put(schema.BranchRow(2, "x"), schema.BranchQualifier(), string(schema.NewBranch("x").AppendTo(nil)))
			c.put(schema.CollisionRow(2), schema.CollisionQualifier([]byte{1}), "01")
			c.put(schema.NotMatchedRow(2), schema.NotMatchedQualifier([]byte{1}), "no rule")
		}, map[string]int{"no-tree mended": 3}, nil},
		{"definition", func(c *checked) { c.put(schema.TreeRow(1), schema.RuleQualifier(0, 0), "{") }, map[string]int{"bad-definition": 1}, map[string]int{"bad-definition": 1}},
		{"branch", func(c *checked) { c.put(schema.BranchRow(1, "h1"), schema.BranchQualifier(), "{") }, map[string]int{"bad-branch": 1}, map[string]int{"bad-branch": 1}},
		{"branch of another path", func(c *checked) {
			c.put(schema.BranchRow(1, "h1"), schema.BranchQualifier(), string(schema.NewBranch("h9").AppendTo(nil)))
		}, map[string]int{"bad-branch": 1}, map[string]int{"bad-branch": 1}},
		{"branch of leaves", func(c *checked) { c.remove(schema.BranchRow(1, "h1", "a"), schema.BranchQualifier()) }, map[string]int{"no-branch": 1}, map[string]int{"no-branch": 1}},
		{"parent", func(c *checked) { c.remove(schema.BranchRow(1, "h1"), schema.BranchQualifier()) }, map[string]int{"orphan-branch mended": 1}, nil},
		{"leaf", func(c *checked) { c.put(schema.BranchRow(1, "h1", "a"), schema.LeafQualifier("b"), "{") }, map[string]int{"bad-leaf mended": 1}, nil},
		{"leaf of another name", func(c *checked) {
			c.put(schema.BranchRow(1, "h1", "a"), schema.LeafQualifier("b"), leaf("z", "000001000001000001"))
		}, map[string]int{"bad-leaf mended": 1}, nil},
		{"leaf without names", func(c *checked) {
			c.put(schema.BranchRow(1, "h1", "a"), schema.LeafQualifier("z"), leaf("z", "0000AA000001000001"))
		}, map[string]int{"unknown-leaf mended": 1}, nil},
		{"leaf of other rules", func(c *checked) {
			c.put(schema.BranchRow(1, "h1", "a"), schema.LeafQualifier("z"), leaf("z", "000001000001000001"))
		}, map[string]int{"misplaced-leaf mended": 1}, nil},
		{"leaf that others share", func(c *checked) {
			c.put(schema.BranchRow(1, "h2", "a"), schema.LeafQualifier("b"), leaf("b", "000001000001000001"))
		}, map[string]int{"misplaced-leaf left": 1}, map[string]int{"misplaced-leaf": 1}},
		{"collided leaf", func(c *checked) {
			c.put(schema.CollisionRow(1), append([]byte(collidedPrefix), 0, 0, 1, 0, 0, 1, 0, 0, 1), string(schema.NewBranch("x", "y").AppendTo(nil)))
			c.put(schema.CollisionRow(1), []byte(collidedPrefix+"x"), "{")
		}, map[string]int{"misplaced-leaf mended": 1, "bad-leaf mended": 1}, nil},
		{"failures", func(c *checked) {
			c.put(schema.CollisionRow(1), schema.CollisionQualifier([]byte{0, 0, 0xAA, 0, 0, 1, 0, 0, 1}), "01")
			c.put(schema.NotMatchedRow(1), schema.NotMatchedQualifier([]byte{0, 0, 0xAA, 0, 0, 1, 0, 0, 1}), "no rule")
		}, map[string]int{"unknown-failure mended": 2}, nil},
		{"series", func(c *checked) {
			c.apply("tsdb-meta", schema.FamilyMeta, kv.Mutation{Key: []byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, DeleteRow: true})
		}, map[string]int{"lost-leaf": 1}, map[string]int{"lost-leaf": 1}},
	} {
		for name, db := range treeEngines() {
			c := newChecked(t, db)
			test.damage(c)
			before, dry := c.cells(), c.check(true)
			kinds := 0
			for k := range dry {
				if !strings.Contains(k, " ") {
					kinds++
				}
			}
			if len(dry) != len(test.want) || kinds != len(dry) || c.cells() != before {
				t.Errorf("%s, %s: a check without mends finds %v, has %d cells of %d", test.name, name, dry, c.cells(), before)
			}
			if held := c.check(false, all...); c.cells() != before || slices.ContainsFunc(keysOf(held), func(k string) bool { return strings.HasSuffix(k, " mended") }) {
				t.Errorf("%s, %s: with an adapter: %v, %d cells of %d", test.name, name, held, c.cells(), before)
			}
			if diff := cmp.Diff(test.want, c.check(true, all...)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", test.name, name, diff)
			}
			left := c.check(true)
			if len(left) > 0 || len(test.left) > 0 {
				if diff := cmp.Diff(test.left, left); diff != "" {
					t.Errorf("%s, %s, after the mends (-want +got):\n%s", test.name, name, diff)
				}
			}
		}
	}
}

func keysOf(m map[string]int) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

package forest_test

import (
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// TestUnreadableCellsOfTrees: cells of a tree that cannot be read are counted, with an example, and all
// others are loaded.
func TestUnreadableCellsOfTrees(t *testing.T) {
	db := kv.NewMem(kv.Table{Name: "tsdb-tree", Families: []string{schema.FamilyData}})
	put := func(key []byte, qualifier []byte, value []byte) {
		t.Helper()
		m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: qualifier, Value: value}}}
		if err := db.Apply(t.Context(), "tsdb-tree", schema.FamilyData, []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	root := schema.BranchRow(1)
	put(root, schema.BranchQualifier(), schema.NewBranch().AppendTo(nil))
	put(schema.BranchRow(1, "good"), schema.BranchQualifier(), schema.NewBranch("good").AppendTo(nil))
	put(schema.BranchRow(1, "bad"), schema.BranchQualifier(), []byte("{"))
	put(root, schema.LeafQualifier("leaf"), []byte("[]"))
	loaded, err := forest.NewIndex(func(name string) string { return name }).Load(t.Context(), db, "tsdb-tree", 0)
	if err != nil || loaded.Branches < 1 || loaded.Unreadable != 2 || !strings.Contains(loaded.Example, "row 0001") {
		t.Errorf("Load = %+v, %v; want the good branch, two unreadable cells and one of them as an example", loaded, err)
	}
}

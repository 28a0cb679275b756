package forest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// definition returns the row of a tree in the table.
func definition(t *testing.T, db kv.KV, id uint16) map[string]string {
	t.Helper()
	rows, err := db.Get(t.Context(), "tsdb-tree", schema.FamilyData, [][]byte{schema.TreeRow(id)})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range rows[0].Cells {
		all[string(c.Qualifier)] = string(c.Value)
	}
	return all
}

func putCell(t *testing.T, db kv.KV, row []byte, qualifier, value string) {
	t.Helper()
	m := kv.Mutation{Key: row, Puts: []kv.Put{{Qualifier: []byte(qualifier), Value: []byte(value)}}}
	if err := db.Apply(t.Context(), "tsdb-tree", schema.FamilyData, []kv.Mutation{m}); err != nil {
		t.Fatal(err)
	}
}

// Documents that a TSD wrote keep their order of fields when they are edited, and unknown fields
// stay.
func TestDeclareOverTSD(t *testing.T) {
	db := kv.NewMem(kv.Table{Name: "tsdb-tree", Families: []string{schema.FamilyData}})
	row := schema.TreeRow(7)
	putCell(t, db, row, "tree", `{"name":"net","description":"d","notes":"","strictMatch":true,"created":5,"enabled":false,"storeFailures":false,"x":[1]}`)
	putCell(t, db, row, "tree_rule:0:0", `{"type":"TAGK","field":"dc","treeId":7,"customField":"","level":0,"order":0}`)
	putCell(t, db, row, "tree_rule:1:0", `{"type":"METRIC","regex":"(?=no)","level":1,"order":0}`)
	putCell(t, db, row, "tree_rule:5:5", `{"type":"METRIC","level":5,"order":5}`)
	putCell(t, db, row, "branch", `{"path":{"0":"ROOT"},"displayName":"ROOT"}`)

	want := tree.Definition{Tree: schema.Tree{Name: "net", Enabled: true}, Rules: []schema.TreeRule{
		{Type: "TAGK", Field: "host"}, {Type: "METRIC", Level: 1, Separator: `\.`},
	}}
	faulty := kvtest.New(db)
	faulty.Fail(kvtest.CheckAndPut, 2, kvtest.Before)
	if id, err := NewDefinitions(faulty, "tsdb-tree").Declare(t.Context(), want); err == nil {
		t.Errorf("Declare over a broken engine gives tree %d", id)
	}
	for range 2 { // the second time there is nothing to do
		id, err := NewDefinitions(db, "tsdb-tree").Declare(t.Context(), want)
		if err != nil || id != 7 {
			t.Fatalf("Declare gives tree %d, %v, want 7", id, err)
		}
		if diff := cmp.Diff(map[string]string{
			"tree": `{"name":"net","description":"","notes":"","strictMatch":false,"created":5,"enabled":true,"storeFailures":false,"x":[1]}`,
			"tree_rule:0:0": `{"type":"TAGK","field":"host","treeId":7,"customField":"","level":0,"order":0,` +
				`"regex":"","separator":"","description":"","notes":"","regexGroupIdx":0,"displayFormat":""}`,
			"tree_rule:1:0": `{"type":"METRIC","regex":"","level":1,"order":0,"field":"","separator":"\\.",` +
				`"description":"","notes":"","customField":"","regexGroupIdx":0,"displayFormat":"","treeId":7}`,
			"branch": `{"path":{"0":"ROOT"},"displayName":"ROOT"}`,
		}, definition(t, db, 7)); diff != "" {
			t.Errorf("the row (-want +got):\n%s", diff)
		}
	}
	second, err := NewDefinitions(db, "tsdb-tree").Create(t.Context(), schema.Tree{Name: "other"})
	if err != nil || second != 8 {
		t.Errorf("Create gives tree %d, %v, want 8", second, err)
	}
}

func TestDeclareRefuses(t *testing.T) {
	db := kv.NewMem(kv.Table{Name: "tsdb-tree", Families: []string{schema.FamilyData}})
	d := NewDefinitions(db, "tsdb-tree")
	bad := tree.Definition{Tree: schema.Tree{Name: "net"}, Rules: []schema.TreeRule{{Type: "METRIC", Separator: "."}}}
	if _, err := d.Declare(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "rule 0:0") {
		t.Errorf("Declare of a separator that takes everything: %v", err)
	}
	if _, err := d.Create(t.Context(), schema.Tree{}); err == nil {
		t.Error("Create without a name goes through")
	}
	if err := d.Edit(t.Context(), 3, func(*schema.Tree) {}); err == nil {
		t.Error("Edit of no tree goes through")
	}
	if err := d.PutRule(t.Context(), 1, schema.TreeRule{Type: "METRIC", Regex: "("}); err == nil {
		t.Error("PutRule of a bad regexp goes through")
	}
	if all := definition(t, db, 1); len(all) != 0 {
		t.Errorf("tree 1 is %v", all)
	}
}

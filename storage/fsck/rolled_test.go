package fsck

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A series that has values of longer intervals alone has data.
func TestSeriesRolledAlone(t *testing.T) {
	db := kv.NewMem(append(kvtest.Tables(), kv.Table{Name: "tsdb-1h", Families: []string{schema.FamilyData}}, kv.Table{Name: "tsdb-1d", Families: []string{schema.FamilyData}})...)
	w := &world{t, db, schema.DefaultLayout()}
	series := func(n byte) []byte { return []byte{0, 0, 1, 0, 0, 1, 0, 0, n} }
	for n := byte(1); n <= 4; n++ {
		w.put(fmt.Sprintf("meta %X ts_ctr=0000000000000001 ts_meta=%s", series(n), schema.AppendNewTSMeta(nil, series(n), 1)))
	}
	for n, table := range map[byte]string{1: "tsdb", 2: "tsdb-1h", 3: "tsdb-1d"} {
		row := kv.Mutation{Key: w.layout.AppendRowKey(nil, series(n), 1_356_998_400), Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{1}}}}
		if err := db.Apply(t.Context(), table, schema.FamilyData, []kv.Mutation{row}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		rolled []string
		want   []string // without data
	}{
		{nil, []string{"000001000001000002", "000001000001000003", "000001000001000004"}},
		{[]string{"tsdb-1h", "tsdb-1d"}, []string{"000001000001000004"}},
	} {
		checker := w.checker()
		checker.o.Rolled = c.rolled
		var got []string
		err := checker.Check(t.Context(), Stretch{Table: "tsdb-meta"}, Query{}, func(s Step) error {
			for _, f := range s.Findings {
				if f.Kind == NoData {
					got = append(got, f.Key)
				}
			}
			return nil
		})
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("with tables %v: %v, without data (-want +got):\n%s", c.rolled, err, diff)
		}
	}
}

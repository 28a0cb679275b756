package documents_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestDescribeSeries describes a series with a document and one without, what is no TSUID, and names
// that are gone.
func TestDescribeSeries(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, db)
	storetest.Resolve(t, s, storetest.Series("m", "k", "v"))
	tsuid := tsuidsOf(t, db)[0]
	put := func(table, family string, row []byte, qualifier, value string) {
		t.Helper()
		m := kv.Mutation{Key: row, Puts: []kv.Put{{Qualifier: []byte(qualifier), Value: []byte(value), Time: 1_700_000_005_000}}}
		if err := db.Apply(t.Context(), table, family, []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	put("tsdb-meta", schema.FamilyMeta, tsuid, "ts_ctr", "\x00\x00\x00\x00\x00\x00\x01\x00")
	put("tsdb-uid", schema.FamilyName, tsuid[:3], "metric_meta", `{"type":"METRIC","displayName":"shown","created":7}`)
	put("tsdb-uid", schema.FamilyName, tsuid[3:6], "tagk_meta", `broken`)
	counted := append(append([]byte{}, tsuid[:8]...), 0x7F) // by a TSD that only counts
	put("tsdb-meta", schema.FamilyMeta, counted, "ts_ctr", "\x00\x00\x00\x00\x00\x00\x00\x01")
	nameless := append(append([]byte{}, tsuid[:8]...), 0x70)
	put("tsdb-meta", schema.FamilyMeta, nameless, "ts_meta", `{"tsuid":"","displayName":"d"}`)

	all, err := s.Documents().DescribeSeries(t.Context(), [][]byte{counted, tsuid, nil, {1, 2}, nameless, tsuid})
	if err != nil || len(all) != 6 || all[0] != nil || all[2] != nil || all[3] != nil {
		t.Fatalf("%v, %v", all, err)
	}
	d := all[1]
	if d.Points != 256 || d.LastReceived != 1_700_000_005 || d.TSUID != schema.FormatTSUID(tsuid) || d.Created == 0 {
		t.Errorf("%+v", d)
	}
	if d.Metric.Name != "m" || d.Metric.DisplayName != "shown" || d.Metric.Created != 7 || d.Metric.Type != "METRIC" {
		t.Errorf("metric %+v", d.Metric)
	}
	if len(d.Tags) != 2 || d.Tags[0].Name != "k" || d.Tags[0].Type != "TAGK" || d.Tags[1].Name != "v" || d.Tags[1].Type != "TAGV" {
		t.Errorf("tags %+v", d.Tags)
	}
	if n := all[4]; n.TSUID != schema.FormatTSUID(nameless) || n.DisplayName != "d" || n.Tags[1].Name != "" || n.Metric.Name != "m" {
		t.Errorf("without a name %+v", n)
	}
	if all[5].Metric.Name != "m" {
		t.Errorf("again %+v", all[5])
	}
	if none, err := s.Documents().DescribeSeries(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("no series: %v, %v", none, err)
	}
}

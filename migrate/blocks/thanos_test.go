package blocks

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// changeMeta changes the meta.json of a block.
func changeMeta(t *testing.T, dir string, change func(meta map[string]any)) {
	t.Helper()
	name := filepath.Join(dir, "meta.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var meta map[string]any
	if err := json.Unmarshal(text, &meta); err != nil {
		t.Fatal(err)
	}
	change(meta)
	if text, err = json.Marshal(meta); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestThanosAndMimir: what both add to meta.json and to the directory of a block does no harm; the labels of Thanos are added, those that
// Mimir keeps in their place are not. A downsampled block is named and left out.
func TestThanosAndMimir(t *testing.T) {
	dir := t.TempDir()
	promtest.AddBlocks(t, dir, promtest.DataBegin, 3)
	all, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	thanos := func(about map[string]any) func(map[string]any) {
		return func(meta map[string]any) { meta["thanos"] = about }
	}
	files := []any{map[string]any{"rel_path": "chunks/000001", "size_bytes": 1}, map[string]any{"rel_path": "meta.json"}}
	changeMeta(t, filepath.Dir(all[0]), thanos(map[string]any{
		"version": 1, "labels": map[string]any{"replica": "a"}, "downsample": map[string]any{"resolution": 0}, "source": "sidecar",
		"segment_files": []any{"000001"}, "files": files, "index_stats": map[string]any{"series_max_size": 16}, "extensions": nil,
	}))
	changeMeta(t, filepath.Dir(all[1]), thanos(map[string]any{
		"labels": map[string]any{"__org_id__": "tenant", "__compactor_shard_id__": "1_of_2"}, "downsample": map[string]any{"resolution": 0}, "source": "compactor",
		"upload_time": "2026-01-01T00:00:00Z",
	}))
	for _, name := range []string{"sparse-index-header", "visit-mark.json"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(all[1]), name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	changeMeta(t, filepath.Dir(all[2]), thanos(map[string]any{"labels": map[string]any{"replica": "a"}, "downsample": map[string]any{"resolution": 300000}, "source": "compactor"}))
	d, err := Open(Options{Dir: dir, Temp: t.TempDir(), From: math.MinInt64, To: math.MaxInt64, External: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if bad := d.Damaged(); len(bad) != 1 || bad[0].Name != filepath.Base(filepath.Dir(all[2])) || !strings.Contains(bad[0].Error(), "downsampled block of Thanos") {
		t.Errorf("%v", bad)
	}
	series := map[string]int{}
	for n := range d.Pieces() {
		damaged, err := d.Read(t.Context(), n, func(b *columns.Batch) error {
			return b.Each(func(s columns.Series) error {
				series[labels.NewBuilder(s.Labels).Keep("replica", "__org_id__", "__compactor_shard_id__").Labels().String()]++
				return nil
			})
		})
		if err != nil || len(damaged) > 0 {
			t.Error(damaged, err)
		}
	}
	if len(series) != 2 || series[`{replica="a"}`] != 12 || series["{}"] != 12 {
		t.Errorf("series by the labels that were added: %v", series)
	}
}

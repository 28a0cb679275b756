package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
)

// TestHBase contains every test that needs a real HBase, or a real OpenTSDB on it, and leaves both
// running. The tests share one cluster; each has tables of its own.
func TestHBase(t *testing.T) {
	needE2E(t)
	t.Parallel()
	c, dir := startHBase(t)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s tables)
	}{
		{"Basic", testBasic},
		{"BasicSalted", testBasicSalted},
		{"Rules", testRules},
		{"Pairs", testPairs},
		{"Deletes", testDeletesHBase},
		{"Page", testPageHBase},
		{"Carbon", testCarbonHBase},
		{"Put", testPut},
		{"Whisper", testWhisperHBase},
		{"TSDReadsUs", testTSDReadsUs},
		{"TSDReadsBuffered", testTSDReadsBuffered},
		{"TSDSalted", testTSDSalted},
		{"TSDLayout", testTSDLayout},
		{"TSDRename", testTSDRename},
		{"TSDPuts", testTSDPuts},
		{"TSDWrites", testTSDWrites},
		{"TSDAppends", testTSDAppends},
		{"TSDCorrections", testTSDCorrections},
		{"TSDNewest", testTSDNewest},
		{"TSDCells", testTSDCells},
		{"TSDMistaken", testTSDMistaken},
		{"TSDFsck", testTSDFsck},
		{"TSDQueries", testTSDQueries},
		{"TSDEvents", testTSDEvents},
		{"TSDHistograms", testTSDHistograms},
		{"TSDRollups", testTSDRollups},
		{"TSDFill", testTSDFill},
		{"TSDCopy", testTSDCopy},
		{"TSDTools", testTSDTools},
		{"TSDTreeSync", testTSDTreeSync},
		{"TSDTreeBrowse", testTSDTreeBrowse},
		{"TSDDay", func(t *testing.T, s tables) { t.Helper(); testTSDDay(t, s, dir) }},
		{"TSDRandom", func(t *testing.T, s tables) { t.Helper(); testTSDRandom(t, s, false) }},
		{"TSDRandomCompacting", func(t *testing.T, s tables) { t.Helper(); testTSDRandom(t, s, true) }},
		{"TSDRace", func(t *testing.T, s tables) { t.Helper(); testTSDRace(t, s, dir) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			test.run(t, tables{cluster: c, name: test.name})
			t.Logf("took %v", time.Since(begin).Round(time.Millisecond))
		})
	}
}

// startHBase runs a cluster until the test ends. Its logs, and those of the TSDs on it, are in dir.
func startHBase(t *testing.T) (c *cluster.Cluster, dir string) {
	t.Helper()
	dir = t.TempDir()
	begin := time.Now()
	// milliseconds, see docs/hbase.md: a few flushes of a table make a compaction of all its files
	c, err := cluster.Start(t.Context(), dir, cluster.Options{Site: map[string]string{"hbase.hstore.time.to.purge.deletes": "3600000"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("HBase up after %v", time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() {
		c.Kill()
		if said, err := os.ReadFile(filepath.Join(dir, "hbase.log")); err == nil && t.Failed() {
			t.Logf("HBase printed last:\n%s", said[max(0, len(said)-4000):])
		}
	})
	return c, dir
}

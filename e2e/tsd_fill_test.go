package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// testTSDFill has the adapter fill rollup tables from points that a TSD and the adapter wrote. Queries with a usage of
// rollups must have the answers of the points, from the TSD too.
func testTSDFill(t *testing.T, s tables) {
	config := rollupConfig(s.name)
	s.flags = []string{"--storage.rollups=" + config}
	s.create(t)
	d := s.startTSD(t, false, append(withoutMeta(), "tsd.rollups.enable", "true", "tsd.rollups.config", config)...)
	rules := filepath.Join(t.TempDir(), "rollups.yml")
	if err := os.WriteFile(rules, []byte("rollups:\n- {matcher: '{__name__=~\"filled.+\"}', delay: 1m, back: 4d}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 22))
	const day = 24 * 3600
	end := time.Now().Unix()/day*day - 3600
	begin := end/day*day - 2*day
	var points []tsdPoint
	for _, metric := range []string{"filled.ints", "filled.floats", "filled.mixed"} {
		for host := range 3 {
			for at := begin; at < end; at += 60 + rng.Int64N(600) {
				value := strconv.FormatInt(rng.Int64N(1<<40)-1<<39, 10)
				if metric == "filled.floats" || metric == "filled.mixed" && rng.IntN(2) == 0 {
					value = strconv.FormatFloat(rng.NormFloat64()*1000, 'f', 1+rng.IntN(9), 64)
				}
				points = append(points, tsdPoint{Metric: metric, Timestamp: at, Value: json.Number(value), Tags: map[string]string{"host": fmt.Sprint("h", host)}})
			}
		}
	}
	a := s.startAdapter(t, "--opentsdb.listen-address=127.0.0.1:0")
	port := tsd{client: newClient(a.opentsdbAddr(t))}
	for some := range slices.Chunk(points, 40) {
		to := []tsd{d, port}[rng.IntN(2)]
		to.Put(t, some...)
	}
	a.Stop(t)
	a = s.startAdapter(t, "--opentsdb.listen-address=127.0.0.1:0", "--config.file="+rules)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(a.Log())
		}
	})
	ours := newClient(a.opentsdbAddr(t))

	for _, metric := range []string{"filled.ints", "filled.floats", "filled.mixed"} {
		for _, downsample := range []string{"10m-sum", "10m-max", "1h-sum", "1h-count", "1h-min", "1h-max", "1h-avg", "2h-sum", "1d-count", "1d-min", "1d-avg"} {
			query := func(usage string) madeQuery {
				return madeQuery{"start": begin, "end": end/day*day - 1, "queries": []any{map[string]any{
					"metric": metric, "aggregator": "none", "downsample": downsample, "rollupUsage": usage,
				}}}
			}
			eventually(t, waitTimeout, metric+" by "+downsample, func() error {
				raw := postQuery(t, d.client, query("ROLLUP_RAW"))
				if downsample == "2h-sum" && metric != "filled.ints" { // sums of sums
					raw = postQuery(t, d.client, query("ROLLUP_NOFALLBACK"))
				}
				if len(raw.body) < 100 {
					return fmt.Errorf("the TSD answers %v", raw)
				}
				for who, c := range map[string]client{"the TSD": d.client, "the adapter": ours} {
					if err := sameAnswers(raw, postQuery(t, c, query("ROLLUP_NOFALLBACK"))); err != nil {
						return fmt.Errorf("%s: %w", who, err)
					}
				}
				return nil
			})
		}
	}
}

package e2e_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
)

// tables is the name of the data table of a test; the others add -uid, -meta and -tree. Each test
// has its own, on a cluster that it shares.
type tables struct {
	cluster *cluster.Cluster
	name    string
	flags   []string // more of them, such as the salt
}

// args returns the adapter's flags for these tables.
func (s tables) args(more ...string) []string {
	all := []string{
		"--storage.engine=hbase", "--hbase.zookeeper=" + s.cluster.ZooKeeper(), "--storage.index-refresh=1s",
		"--storage.table.data=" + s.name, "--storage.table.uid=" + s.name + "-uid",
		"--storage.table.meta=" + s.name + "-meta", "--storage.table.tree=" + s.name + "-tree",
	}
	return append(append(all, s.flags...), more...)
}

// create runs "tables create" and returns what it printed. The output of a success must not look
// like a failure.
func (s tables) create(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitTimeout)
	defer cancel()
	args := append([]string{"tables", "create"}, s.args("--hbase.timeout="+waitTimeout.String())...)
	cmd := exec.CommandContext(ctx, adapterBinary(t), args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tsdbridge %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	if strings.Contains(said.String(), "level=ERROR") {
		t.Errorf("tsdbridge %s succeeds and logs an error:\n%s", strings.Join(args, " "), said.String())
	}
	return string(out)
}

// startAdapter runs an adapter on the tables, which must be there, until the test ends.
func (s tables) startAdapter(t testing.TB, more ...string) *adapter {
	t.Helper()
	return startAdapter(t, s.args(more...)...)
}

// startTSD runs a TSD on the tables until the test ends. Changes to its configuration are name,
// value, name, value, ...
func (s tables) startTSD(t testing.TB, compaction bool, config ...string) tsd {
	t.Helper()
	// ms
	o := cluster.TSDOptions{Tables: s.name, Compaction: compaction, Config: map[string]string{"tsd.storage.flush_interval": "50"}}
	for i := 0; i < len(config); i += 2 {
		o.Config[config[i]] = config[i+1]
	}
	begin := time.Now()
	d, err := s.cluster.TSD(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("TSD up after %v", time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return tsd{TSD: d, client: newClient(d.Addr())}
}

// withoutMeta is the configuration that most TSDs have: tsdb-meta stays empty.
func withoutMeta() []string {
	return []string{
		"tsd.core.meta.enable_realtime_ts", "false", "tsd.core.meta.enable_realtime_uid", "false",
		"tsd.core.meta.enable_tsuid_tracking", "false", "tsd.core.meta.enable_tsuid_incrementing", "false",
		"tsd.core.tree.enable_processing", "false",
	}
}

// cell is one cell of a table.
type cell struct{ row, family, qualifier, value string }

// isObject reports whether it is one of our object cells in the data table, which OpenTSDB has no
// form for.
func (c cell) isObject() bool { return len(c.qualifier)%2 == 1 && c.qualifier[0] == 0x82 }

// cells reads a whole table directly from HBase, in key order.
func (s tables) cells(t testing.TB, table string) []cell {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	c := gohbase.NewClient(s.cluster.ZooKeeper(), gohbase.Logger(slog.New(slog.DiscardHandler)))
	defer c.Close()
	scan, err := hrpc.NewScan(ctx, []byte(table))
	if err != nil {
		t.Fatal(err)
	}
	rows := c.Scan(scan)
	defer rows.Close()
	var all []cell
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("scan %s: %v", table, err)
		}
		for _, c := range row.Cells {
			all = append(all, cell{string(c.Row), string(c.Family), string(c.Qualifier), string(c.Value)})
		}
	}
}

// dataCells returns the cells of the data table with points (even qualifiers) and those with
// objects of ours, by row.
func (s tables) dataCells(t testing.TB) (points map[string]int, objects []cell) {
	t.Helper()
	points = map[string]int{}
	for _, c := range s.cells(t, s.name) {
		switch {
		case len(c.qualifier)%2 == 0:
			points[c.row]++
		case c.isObject():
			objects = append(objects, c)
		}
	}
	return points, objects
}

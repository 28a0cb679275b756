package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
)

const tsdName = "OpenTSDB"

// A hadoop is a real HBase in one process, in a directory of its own. Each measured server has its
// own tables on it.
type hadoop struct {
	*cluster.Cluster
	dir  string
	ours program
}

// startHadoop starts HBase from Maven artifacts. The error names what is missing for that.
func startHadoop(ctx context.Context, r *report) (*hadoop, error) {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, dir, cluster.Options{HeapMB: 3072})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r.others["HBase"] = "2.6.4-hadoop3, one process, one disk without replication, heap 3 GiB"
	return &hadoop{Cluster: c, dir: dir, ours: r.programs.ours}, nil
}

func (h *hadoop) close() {
	h.Kill()
	os.RemoveAll(h.dir)
}

// usage of HBase's process.
func (h *hadoop) usage() usage { return usageOf(h.PID()) }

// tables returns the flags for the four tables of a name.
func (h *hadoop) tables(name string) []string {
	return []string{
		"--storage.engine=hbase", "--hbase.zookeeper=" + h.ZooKeeper(), "--storage.table.data=" + name, "--storage.table.uid=" + name + "-uid",
		"--storage.table.meta=" + name + "-meta", "--storage.table.tree=" + name + "-tree",
	}
}

// create makes the tables of a name with our own command. The TSD gets the same tables.
func (h *hadoop) create(ctx context.Context, name string) error {
	_, err := output(ctx, h.ours.path, append([]string{"tables", "create"}, h.tables(name)...)...)
	return err
}

// adapter returns tsdbridge on tables of HBase.
func (h *hadoop) adapter(table, mode string) program {
	p := h.ours
	p.name = oursName + " " + mode
	p.args = func(data string, a addresses) []string {
		return append(h.tables(table),
			"--web.listen-address="+a.http, "--storage.path="+data, "--write.log.path="+filepath.Join(data, "log"), "--write.mode="+mode)
	}
	p.compact, p.settle = nil, nil
	return p
}

// tsd starts an OpenTSDB on its own tables with its default configuration: compaction on, tsdb-meta
// off.
func (h *hadoop) tsd(ctx context.Context, r *report, table string) (*cluster.TSD, error) {
	config := map[string]string{}
	for _, key := range []string{
		"tsd.core.meta.enable_realtime_ts", "tsd.core.meta.enable_realtime_uid", "tsd.core.meta.enable_tsuid_tracking",
		"tsd.core.meta.enable_tsuid_incrementing", "tsd.core.tree.enable_processing",
	} {
		config[key] = "false"
	}
	config["tsd.network.worker_threads"] = "4"
	t, err := h.TSD(ctx, cluster.TSDOptions{Tables: table, Compaction: true, HeapMB: 2048, Config: config})
	if err == nil {
		r.others[tsdName] = "2.4.1, compaction on, tsdb-meta off, heap 2 GiB"
	}
	return t, err
}

// walBytes returns the size of HBase's write-ahead logs, including old ones that HBase has not
// deleted yet.
func (h *hadoop) walBytes() (int64, error) {
	var sum int64
	for _, dir := range []string{"WALs", "oldWALs"} {
		n, err := bytesIn(filepath.Join(h.dir, "data", dir))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", dir, err)
		}
		sum += n
	}
	return sum, nil
}

package hbase_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
	"github.com/tsdbridge/tsdbridge/storage/compact"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// BenchmarkClosedRows puts two hours of samples as mode through does, has them compacted, and
// reports what both forms take on the disk of HBase and to read, and what the compaction costs, for
// several block sizes. It starts a real HBase.
//
//	TSDBRIDGE_E2E=1 go test -run '^$' -bench ClosedRows -benchtime 1x ./storage/hbase
//
// TSDBRIDGE_BENCH_SERIES is the number of series (default 2400).
func BenchmarkClosedRows(b *testing.B) {
	if os.Getenv("TSDBRIDGE_E2E") != "1" {
		b.Skip("needs Java, Maven and some minutes: set TSDBRIDGE_E2E=1")
	}
	series := 2400
	if text := os.Getenv("TSDBRIDGE_BENCH_SERIES"); text != "" {
		series, _ = strconv.Atoi(text)
	}
	dir := b.TempDir()
	c, err := cluster.Start(b.Context(), dir, cluster.Options{HeapMB: 2048, Site: map[string]string{"hbase.hfile.compaction.discharger.interval": "2000"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Kill)
	for _, block := range []int{64 << 10, 256 << 10, 1 << 20} {
		b.Run(fmt.Sprint("block=", block>>10, "K"), func(b *testing.B) {
			for b.Loop() {
				m := newClosedBench(b, c, dir, block, series)
				m.measure("single")
				m.compact()
				m.measure("compacted")
			}
		})
	}
}

// closedBench is a table of its own with the samples of a shape.
type closedBench struct {
	*testing.B
	c       *cluster.Cluster
	dir     string
	names   hbase.TableNames
	e       *hbase.Engine
	samples int
	keys    [][]byte
	end     time.Time
}

func newClosedBench(b *testing.B, c *cluster.Cluster, dir string, block, series int) *closedBench {
	b.Helper()
	e, err := hbase.New(hbase.Options{ZooKeeper: c.ZooKeeper()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close() })
	name := fmt.Sprint("closed", block)
	m := &closedBench{
		B: b, c: c, dir: dir, e: e, end: time.Unix(1_700_006_400, 0),
		names: hbase.TableNames{Data: name, UID: name + "-uid", Meta: name + "-meta", Tree: name + "-tree"},
	}
	specs := hbase.OpenTSDBTables(m.names, hbase.TableOptions{MetricWidth: 3, Compression: "zstd"})
	specs[0].Families[0].Block = block
	if err := e.CreateTables(b.Context(), specs); err != nil {
		b.Fatal(err)
	}
	m.fill(series)
	return m
}

// fill puts each sample as a cell, stamped within the second after its time, an hour of all series
// after the other.
func (m *closedBench) fill(series int) {
	m.Helper()
	l, ids := schema.DefaultLayout(), map[string]int{}
	id := func(kind, name string) []byte {
		n, ok := ids[kind+name]
		if !ok {
			n = len(ids) + 1
			ids[kind+name] = n
		}
		return number3(n)
	}
	shape := load.Shape{Seed: 1, Series: series, Steps: 480, Interval: 15 * time.Second, End: m.end}
	rows := map[string]*kv.Mutation{}
	tsuids := map[*load.Series][]byte{}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, lane := range shape.Lanes(1) {
		lane.Each(func(s load.Sample) {
			tsuid := tsuids[s.Series]
			if tsuid == nil {
				var pairs []schema.Pair
				for _, label := range s.Series.Labels {
					if label.Name != "__name__" {
						pairs = append(pairs, schema.Pair{Key: id("k", label.Name), Value: id("v", label.Value)})
					}
				}
				tsuid = l.AppendTSUID(nil, id("m", s.Series.Name()), pairs)
				tsuids[s.Series] = tsuid
			}
			p, ok := schema.FloatPoint(schema.Offset(s.Time), s.Value, schema.ValuesAuto)
			if !ok {
				return
			}
			key := string(l.AppendRowKey(nil, tsuid, schema.Base(s.Time)))
			if rows[key] == nil {
				rows[key] = &kv.Mutation{Key: []byte(key)}
			}
			q, v := schema.AppendCell(nil, nil, []schema.Point{p})
			stamp := s.Time + rng.Int64N(900)
			rows[key].Puts = append(rows[key].Puts, kv.Put{Qualifier: q, Value: v, Time: stamp})
			m.samples++
		})
	}
	var all []kv.Mutation
	for key, row := range rows {
		all, m.keys = append(all, *row), append(m.keys, []byte(key))
	}
	slices.SortFunc(m.keys, bytes.Compare)
	for some := range slices.Chunk(all, 500) {
		if err := m.e.Apply(m.Context(), m.names.Data, "t", some); err != nil {
			m.Fatal(err)
		}
	}
}

// measure flushes and compacts the table and reports its size and the time to read it.
func (m *closedBench) measure(form string) {
	m.Helper()
	for _, do := range []func() error{
		func() error { return m.c.Flush(m.Context(), m.names.Data) },
		func() error { return m.c.Compact(m.Context(), m.names.Data) },
	} {
		if err := do(); err != nil {
			m.Fatal(err)
		}
	}
	for range 40 { // HBase removes the files that it has compacted later
		if m.files() == 1 {
			break
		}
		time.Sleep(5 * time.Second)
	}
	m.ReportMetric(float64(m.bytes(filepath.Join("data", "data", "default", m.names.Data)))/float64(m.samples), form+"-B/sample")
	best := func(read func() int) float64 {
		least := time.Hour
		for range 5 {
			begin := time.Now()
			if n := read(); n == 0 {
				m.Fatal("nothing was read")
			}
			least = min(least, time.Since(begin))
		}
		return float64(least.Microseconds()) / 1000
	}
	m.ReportMetric(best(func() int {
		n, err := countScan(m.B, m.e, kv.Scan{Table: m.names.Data, Family: "t"})
		if err != nil {
			m.Fatal(err)
		}
		return n
	}), form+"-scan-ms")
	var some [][]byte
	for i := 0; i < len(m.keys); i += max(len(m.keys)/100, 1) {
		some = append(some, m.keys[i])
	}
	m.ReportMetric(best(func() int {
		rows, err := m.e.Get(m.Context(), m.names.Data, "t", some)
		if err != nil {
			m.Fatal(err)
		}
		return countFull(rows)
	}), form+"-get100-ms")
}

// files is the number of the table's HFiles.
func (m *closedBench) files() (n int) {
	for _, region := range m.regionDirs() {
		files, _ := os.ReadDir(filepath.Join(region, "t"))
		n += len(files)
	}
	return n
}

func (m *closedBench) regionDirs() []string {
	dirs, _ := filepath.Glob(filepath.Join(m.dir, "data", "data", "default", m.names.Data, "????????????????????????????????"))
	return dirs
}

// bytes are those of the files in a directory of HBase.
func (m *closedBench) bytes(dir string) (sum int64) {
	_ = filepath.WalkDir(filepath.Join(m.dir, dir), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// compact has the rows compacted and reports what that takes.
func (m *closedBench) compact() {
	m.Helper()
	compactor := compact.New(compact.Options{
		DB: kv.NewEngine(m.e, false), Data: m.names.Data, Leases: m.names.Tree, Layout: schema.DefaultLayout(), After: 2 * time.Hour, Quiet: 10 * time.Minute,
		Now: func() time.Time { return m.end.Add(3 * time.Hour) }, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	logs := func() int64 {
		return m.bytes(filepath.Join("data", "WALs")) + m.bytes(filepath.Join("data", "oldWALs"))
	}
	wal, server, own, begin := logs(), cpuOf(m.c.PID()), ownCPU(), time.Now()
	if err := compactor.Look(m.Context()); err != nil {
		m.Fatal(err)
	}
	took := time.Since(begin)
	millions := float64(m.samples) / 1e6
	s := compactor.Status()
	if s.Removed != int64(m.samples) {
		m.Fatalf("%d cells of %d were removed", s.Removed, m.samples)
	}
	m.ReportMetric(float64(logs()-wal)/float64(m.samples), "WAL-B/sample")
	m.ReportMetric((cpuOf(m.c.PID())-server)/millions, "hbase-CPU-s/M")
	m.ReportMetric((ownCPU()-own)/millions, "own-CPU-s/M")
	m.ReportMetric(float64(m.samples)/took.Seconds(), "cells/s")
}

// cpuOf is the CPU time of a process in seconds.
func cpuOf(pid int) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	user, _ := strconv.ParseFloat(string(f[11]), 64)
	system, _ := strconv.ParseFloat(string(f[12]), 64)
	return (user + system) / 100
}

func ownCPU() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

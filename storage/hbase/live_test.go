package hbase_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

// TestLive tests the engine on a real HBase. Its parts share one server, since starting it takes
// ten seconds.
func TestLive(t *testing.T) {
	heap := 1024
	if scale.Full() {
		heap = 4096 // hundreds of tables
	}
	c := cluster.HBase(t, cluster.Options{HeapMB: heap, Site: map[string]string{
		"hbase.io.compress.lzo.codec": "no.such.Codec", "hbase.io.compress.zstd.codec": "no.such.Codec",
	}})
	t.Run("conformance", func(t *testing.T) {
		kvtest.Run(t, func(t *testing.T) kv.KV {
			e := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()})
			names := opentsdbNames()
			specs := hbase.OpenTSDBTables(names, hbase.TableOptions{MetricWidth: 3, SaltWidth: 1, SaltBuckets: 4})
			for range 2 { // the second time they exist
				if err := e.CreateTables(t.Context(), specs); err != nil {
					t.Fatal(err)
				}
			}
			return e
		})
	})
	t.Run("proof", func(t *testing.T) { testProof(t, c) })
	t.Run("versioned", func(t *testing.T) { testVersioned(t, c) })
	t.Run("tsd", func(t *testing.T) { testTSD(t, c) })
	t.Run("closed", func(t *testing.T) { testClosed(t, c) })
	t.Run("tables", func(t *testing.T) { testTables(t, c) })
	t.Run("split", func(t *testing.T) { testSplit(t, c) })
	t.Run("compact", func(t *testing.T) { testMajorCompact(t, c) })
	t.Run("restart", func(t *testing.T) { testRestart(t, c) })
	t.Run("kill", func(t *testing.T) { testKill(t, c) })
	// last: its tables, hundreds at full size, make restarts slow
	t.Run("store", func(t *testing.T) { testStore(t, c) })
}

// newTable makes the table t with the family f in three regions and returns an engine.
func newTable(t *testing.T, c *cluster.Cluster, o hbase.Options) *hbase.Engine {
	t.Helper()
	return newTableOf(t, c, o, table)
}

// newTableOf is newTable for a table of another name.
func newTableOf(t *testing.T, c *cluster.Cluster, o hbase.Options, name string) *hbase.Engine {
	t.Helper()
	o.ZooKeeper = c.ZooKeeper()
	e := newEngine(t, o)
	spec := hbase.TableSpec{
		Name:     name,
		Families: []hbase.Family{{Name: family, Bloom: "ROW", Encoding: "DIFF", Compression: "NONE"}},
		Splits:   [][]byte{[]byte(key(3000)), []byte(key(6000))},
	}
	if err := e.CreateTables(t.Context(), []hbase.TableSpec{spec}); err != nil {
		t.Fatal(err)
	}
	return e
}

// testProof: HBase proves that it looks at conditions, and the proof leaves nothing.
func testProof(t *testing.T, c *cluster.Cluster) {
	e := newTableOf(t, c, hbase.Options{}, "proof")
	if err := e.Supported(t.Context(), "proof", family); err != nil {
		t.Error(err)
	}
	past, err := e.History(t.Context(), "proof", family, [][]byte{{0}, []byte(key(3000)), []byte(key(6000))})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range past {
		if !h.Untouched() {
			t.Errorf("row %q has a past: %+v", h.Key, h)
		}
	}
}

func testTables(t *testing.T, c *cluster.Cluster) {
	e := newTable(t, c, hbase.Options{})
	with := func(name, family, compression string) []hbase.TableSpec {
		return []hbase.TableSpec{{Name: name, Families: []hbase.Family{{Name: family, Bloom: "ROW", Encoding: "DIFF", Compression: compression}}}}
	}
	if err := e.CreateTables(t.Context(), with(table, "other", "NONE")); err == nil || !strings.Contains(err.Error(), `without the family "other"`) {
		t.Errorf("a table that lacks the family: %v", err)
	}
	for _, codec := range []string{"GZ", "SNAPPY", "LZ4"} {
		if err := e.CreateTables(t.Context(), with("with-"+codec, "f", codec)); err != nil {
			t.Errorf("compression %s: %v", codec, err)
		}
	}
	err := e.CreateTables(t.Context(), with("with-lzo", "f", "LZO"))
	if err == nil || !strings.Contains(err.Error(), "no codec for compression LZO") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a codec that the server does not have: %v", err)
	}
	// Without ZSTD the next best is taken.
	if err := e.CreateTables(t.Context(), with("with-best", "f", hbase.CompressionAuto)); err != nil {
		t.Errorf("the best compression: %v", err)
	}
	made, err := e.DescribeTables(t.Context(), []string{"with-best"})
	if err != nil {
		t.Fatal(err)
	}
	best := with("with-best", "f", "LZ4")
	best[0].Families[0].Versions = 1
	if diff := cmp.Diff(best, made); diff != "" {
		t.Errorf("the table made with the best compression (-want +got):\n%s", diff)
	}
	if _, err := e.DescribeTables(t.Context(), []string{"with-zstd"}); !errors.Is(err, kv.ErrNoTable) {
		t.Errorf("a table that HBase refused: %v", err)
	}
}

// testSplit splits each region while the table is scanned and written, and rows are read that are near to each
// other. The halves cannot be split again before a compaction.
func testSplit(t *testing.T, c *cluster.Cluster) {
	reg := prometheus.NewRegistry()
	e := newTable(t, c, hbase.Options{Registerer: reg, BatchRows: 3000})
	const rows, regionRows = 9000, 3000
	// Some 9 MB a region, so that a scanner is open for several answers.
	big := puts(0, rows, 1)
	for i := range big {
		big[i].Puts = append(big[i].Puts, kv.Put{Qualifier: []byte{1}, Value: make([]byte, 3000)})
	}
	mustApply(t, e, big)
	var writing sync.WaitGroup
	defer writing.Wait()
	stop := make(chan struct{})
	defer close(stop)
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := e.Apply(t.Context(), table, family, puts(0, rows, 1)); err != nil {
				t.Errorf("write during a split: %v", err)
				return
			}
		}
	})
	var keys [][]byte
	for i := range rows + 500 { // the last ones are not there
		if i%3 > 0 {
			keys = append(keys, []byte(key(i)))
		}
	}
	checkNear := func() {
		got, err := readNear(t, e, keys)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			cells := 0
			if string(keys[i]) < key(rows) {
				cells = 2
			}
			if len(got[i].Cells) != cells || cells > 0 && len(got[i].Cells[1].Value) != 3000 {
				t.Fatalf("row %q has %d cells, want %d", keys[i], len(got[i].Cells), cells)
			}
		}
	}
	checkNear()
	for region := range rows / regionRows {
		read := 0
		for row, err := range e.Scan(t.Context(), kv.Scan{Table: table, Family: family}) {
			if err != nil {
				t.Fatal(err)
			}
			if string(row.Key) != key(read) || len(row.Cells) != 2 {
				t.Fatalf("row %d is %q with %d cells", read, row.Key, len(row.Cells))
			}
			if read++; read == region*regionRows+100 { // the region is being read
				split(t, c, key(region*regionRows+regionRows/2))
				checkNear()
			}
		}
		if read != rows {
			t.Errorf("scan across a split of region %d: %d rows, want %d", region, read, rows)
		}
	}
	if n := counter(t, reg, "tsdbridge_hbase_scan_resumes_total"); n == 0 {
		t.Error("no scan lost its scanner: the test shows nothing")
	} else {
		t.Logf("%v scanners lost to 3 splits", n)
	}
}

func counter(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// split asks the master to split the region of a key there, and waits until it has. gohbase has no
// request for it.
func split(t *testing.T, c *cluster.Cluster, at string) {
	t.Helper()
	client := gohbase.NewClient(c.ZooKeeper(), gohbase.RpcQueueSize(1))
	defer client.Close()
	get, err := hrpc.NewGetStr(t.Context(), table, at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(get); err != nil {
		t.Fatal(err)
	}
	old := get.Region()
	info, err := proto.Marshal(&pb.RegionInfo{
		RegionId: new(old.ID()), StartKey: old.StartKey(), EndKey: old.StopKey(),
		TableName: &pb.TableName{Namespace: []byte("default"), Qualifier: []byte(table)},
	})
	if err != nil {
		t.Fatal(err)
	}
	// SplitTableRegionRequest{region_info = 1, split_row = 2}
	raw := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), info)
	raw = protowire.AppendBytes(protowire.AppendTag(raw, 2, protowire.BytesType), []byte(at))
	request := &emptypb.Empty{}
	request.ProtoReflect().SetUnknown(raw)
	admin, ok := gohbase.NewAdminClient(c.ZooKeeper()).(gohbase.RPCClient)
	if !ok {
		t.Fatal("an admin client that sends no requests")
	}
	if _, err := admin.SendRPC(&masterCall{Call: hrpc.NewGetProcedureState(t.Context(), 0), request: request}); err != nil {
		t.Fatal(err)
	}
	for get.Region().ID() == old.ID() {
		again, err := hrpc.NewGetStr(t.Context(), table, at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get(again); err != nil {
			t.Fatal(err)
		}
		get = again
	}
}

// A masterCall is a request that gohbase does not have, disguised as one that it has.
type masterCall struct {
	hrpc.Call
	request proto.Message
}

func (c *masterCall) Name() string               { return "SplitRegion" }
func (c *masterCall) ToProto() proto.Message     { return c.request }
func (c *masterCall) NewResponse() proto.Message { return &emptypb.Empty{} }

// testRestart stops HBase and starts it again while one engine is in use.
func testRestart(t *testing.T, c *cluster.Cluster) {
	e := newTable(t, c, hbase.Options{Timeout: 2 * time.Second})
	rows := puts(0, 100, 1)
	mustApply(t, e, rows)
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(t.Context(), table, family, rows); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("write while HBase is down: %v", err)
	}
	late := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()}) // made while HBase is down
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*hbase.Engine{"before": e, "while it was down": late} {
		got, err := readPatiently(t, e, [][]byte{rows[7].Key})
		if err != nil || len(got) != 1 || len(got[0].Cells) == 0 || string(got[0].Cells[0].Value) != "7.0" {
			t.Errorf("engine made %s: %v, %v", name, lines(got), err)
		}
	}
}

// readPatiently repeats the read while regions are still being opened.
func readPatiently(t *testing.T, e *hbase.Engine, keys [][]byte) ([]kv.Row, error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		rows, err := e.Get(t.Context(), table, family, keys)
		if err == nil || time.Now().After(deadline) {
			return rows, err
		}
	}
}

// testKill kills HBase while four writers write, and reads back every acknowledged row.
func testKill(t *testing.T, c *cluster.Cluster) {
	e := newTable(t, c, hbase.Options{Timeout: 90 * time.Second})
	const writers, batch = 4, 50
	var acked [writers]atomic.Int64 // batches
	var enough atomic.Int64
	name := func(w, i int) []byte { return fmt.Appendf(nil, "kill-%d-%08d", w, i) }
	stop := make(chan struct{})
	reached := make(chan struct{})
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				var rows []kv.Mutation
				for i := range batch {
					rows = append(rows, kv.Mutation{Key: name(w, n*batch+i), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("v")}}})
				}
				if err := e.Apply(t.Context(), table, family, rows); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				acked[w].Store(int64(n + 1))
				if enough.Add(1) == 500 {
					close(reached)
				}
			}
		})
	}
	<-reached
	c.KillHBase()
	if err := c.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	close(stop)
	writing.Wait()
	present := map[string]bool{}
	for row, err := range e.Scan(t.Context(), kv.Scan{Table: table, Family: family, Start: []byte("kill-"), Stop: []byte("kill."), KeysOnly: true}) {
		if err != nil {
			t.Fatal(err)
		}
		present[string(row.Key)] = true
	}
	total, missing := 0, 0
	for w := range writers {
		for i := range int(acked[w].Load()) * batch {
			total++
			if !present[string(name(w, i))] {
				missing++
			}
		}
	}
	t.Logf("%d rows acknowledged, %d missing, %d present", total, missing, len(present))
	if missing > 0 {
		t.Errorf("%d of %d acknowledged rows are missing", missing, total)
	}
}

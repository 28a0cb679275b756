// Package hbasetest is a small HBase in the test's own process: a ZooKeeper that returns addresses,
// a master that tells its version, and region servers that speak HBase's protocol over tables in memory. On request it does what a
// real HBase cannot be made to do at a chosen moment: lose an answer, refuse a request, move or
// split a region between two requests. It keeps all versions and tombstones forever, ignores
// filters (a server may always send more than requested), and is never durable.
package hbasetest

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
)

// servers is the number of region servers, so that a region can move.
const servers = 2

// A Cluster is a running fake.
type Cluster struct {
	zk  net.Listener
	rs  [servers]net.Listener
	end chan struct{} // closed when the test is over

	mu       sync.Mutex // guards what follows
	tables   map[string]*table
	scanners map[uint64]*scanner
	lastID   uint64 // of scanners and regions
	counts   map[string]int
	upkeep   []string
	onCall   func(Request) Fault
	conns    map[net.Conn]struct{}

	// PageRows and PageCells bound an answer of a scan; a row with more cells comes in parts. Set
	// before use.
	PageRows, PageCells int
	// Unconditional makes changes without looking at conditions that name them in a Multi, as HBase
	// before 2.4 does. Set before use.
	Unconditional [servers]bool
	// Version is what the master tells; empty: nothing.
	Version string
}

// A Request describes a request, so that a test can choose a fault for it.
type Request struct {
	Method string // Get, Mutate, Multi, Scan, FlushRegion, CompactRegion
	Table  string
	Next   bool // of a scan: not the first request to a scanner
	Close  bool // of a scan
	N      int  // how many requests of this method came before, to any table
}

// A Fault is what goes wrong with a request. The zero Fault is none.
type Fault struct {
	// Exception refuses the request with this Java class.
	Exception string
	// RowException answers a Multi with this class for each of its regions.
	RowException string
	// Silent answers a Multi without a result for its last row, which was not carried out.
	Silent bool
	// Lose carries the request out and closes the connection instead of answering.
	Lose bool
	// Empty answers a scan without rows, like a server that has found nothing yet.
	Empty bool
	// Hold waits until the channel is closed, or the test over, before the request is carried out.
	Hold <-chan struct{}
	// Garble changes the cells of the answer.
	Garble func(cells []byte)
	// Do is called before the request is carried out, to move or split a region.
	Do func()
}

// Start starts a fake with the given tables (name to families), one region each, and stops it at
// the test's end.
func Start(tb testing.TB, tables map[string][]string) *Cluster {
	tb.Helper()
	c := &Cluster{
		tables: map[string]*table{}, scanners: map[uint64]*scanner{}, counts: map[string]int{}, conns: map[net.Conn]struct{}{},
		end: make(chan struct{}), PageRows: 1000, PageCells: 1000,
		onCall: func(Request) Fault { return Fault{} },
	}
	for name, families := range tables {
		t := &table{name: name, families: families, rows: map[string]row{}}
		t.regions = []*region{c.newRegion(t, nil, nil, 0)}
		c.tables[name] = t
	}
	var running sync.WaitGroup
	listen := func(serve func(net.Conn)) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		running.Go(func() { c.accept(l, serve, &running) })
		return l
	}
	c.zk = listen(c.serveZooKeeper)
	for i := range c.rs {
		c.rs[i] = listen(func(conn net.Conn) { c.serveRegions(i, conn) })
	}
	tb.Cleanup(func() {
		close(c.end)
		c.zk.Close()
		for _, l := range c.rs {
			l.Close()
		}
		c.CloseConnections()
		running.Wait()
	})
	return c
}

func (c *Cluster) accept(l net.Listener, serve func(net.Conn), running *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.conns[conn] = struct{}{}
		c.mu.Unlock()
		running.Go(func() {
			serve(conn)
			conn.Close()
			c.mu.Lock()
			delete(c.conns, conn)
			c.mu.Unlock()
		})
	}
}

// Upkeep returns the requests to write regions to files and to compact them, in their order: "FlushRegion NAME",
// "CompactRegion major NAME".
func (c *Cluster) Upkeep() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.upkeep)
}

// CloseConnections cuts all connections, as a crash would.
func (c *Cluster) CloseConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		conn.Close()
	}
}

// ZooKeeper returns the host:port for clients.
func (c *Cluster) ZooKeeper() string { return c.zk.Addr().String() }

// OnRequest sets the function that is called before each request and returns its fault.
func (c *Cluster) OnRequest(f func(Request) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onCall = f
}

// Scanners returns the number of scanners that are open.
func (c *Cluster) Scanners() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.scanners)
}

// Count returns the number of requests of a method that were carried out.
func (c *Cluster) Count(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[method]
}

// Move opens the region of a key on the other server; its scanners are gone.
func (c *Cluster) Move(table, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.tables[table].regionOf([]byte(key))
	r.server = (r.server + 1) % servers
	c.forgetScanners(r)
}

// Split cuts the region of a key in two there; the new halves are on different servers.
func (c *Cluster) Split(table, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[table]
	r := t.regionOf([]byte(key))
	if bytes.Equal(r.start, []byte(key)) {
		return
	}
	i := slices.Index(t.regions, r)
	t.regions = slices.Replace(t.regions, i, i+1,
		c.newRegion(t, r.start, []byte(key), r.server), c.newRegion(t, []byte(key), r.stop, (r.server+1)%servers))
	c.forgetScanners(r)
}

// DeleteExact deletes the versions of one time, of one cell or (nil) of the whole row.
func (c *Cluster) DeleteExact(table, family string, key, qualifier []byte, time int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := byte(typeDelete)
	if qualifier == nil {
		kind = typeDeleteFamilyVersion
	}
	c.tables[table].add(cell{row: clone(key), family: family, qualifier: clone(qualifier), time: time, kind: kind})
}

// Disable disables a table as HBase's shell does, or enables it again: nothing serves the regions
// of a disabled table, and hbase:meta still lists them.
func (c *Cluster) Disable(table string, disabled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables[table].disabled = disabled
}

// Compact drops what no read returns.
func (c *Cluster) Compact(table string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[table]
	for key, r := range t.rows {
		for family := range r {
			r[family] = t.cells([]byte(key), family, nil, 0)
		}
	}
}

func (c *Cluster) forgetScanners(r *region) {
	for id, s := range c.scanners {
		if s.region == r {
			delete(c.scanners, id)
		}
	}
}

// newRegion makes a region, younger than all others. The caller holds mu.
func (c *Cluster) newRegion(t *table, start, stop []byte, server int) *region {
	c.lastID++
	return &region{
		name: fmt.Sprintf("%s,%s,%d.%032x.", t.name, start, c.lastID, c.lastID), id: c.lastID,
		table: t, start: start, stop: stop, server: server,
	}
}

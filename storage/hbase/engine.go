// Package hbase implements the table contract of storage/kv on an Apache HBase cluster. gohbase
// finds the regions, holds the connections and sends again what a moved region or a lost connection
// lost. This package writes the requests and reads the answers itself, because gohbase alone loses
// rows of a scan whose answer got lost, repeats increments and waits forever. It knows regions,
// scanners and Java exceptions; it never knows what a row key or a cell means.
//
// HBase cannot promise one thing: the Time of a cell that was put without one is the clock of the
// region server that wrote it. A region that moves to a server whose clock is late may therefore
// hide a put by an older one until the clocks agree; keep them synchronized. A family with
// NEW_VERSION_BEHAVIOR, which is not used for OpenTSDB, has other rules of visibility than those of
// kv.Versioned.
package hbase

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Options of an Engine.
type Options struct {
	// ZooKeeper is the quorum, host:port separated by commas.
	ZooKeeper string
	// Root is HBase's node in ZooKeeper (default /hbase).
	Root string
	// User is the name that HBase sees (default tsdbridge); HBase believes it, there is no
	// authentication.
	User string
	// Timeout is how long one batch of reads or writes may take, its waiting and all its retries
	// included (default 20 s).
	Timeout time.Duration
	// ScanTimeout is how long a scan may go without an answer (default 60 s). A server with a
	// filter may search half of hbase.client.scanner.timeout.period, 30 s by default, before it
	// reports that it found nothing yet.
	ScanTimeout time.Duration
	// Readers is the number of connections to each region server for reading (default 2); writes
	// have one of their own.
	Readers int
	// InFlight is the number of batches of writes that wait for one region server at a time, and
	// likewise of reads (default 4).
	InFlight int
	// Batches is the number of batches of writes, and of batches of reads, that are in memory at a
	// time, for all servers together (default 32, of 2 MB at most unless a single row is larger).
	Batches int
	// BatchRows is the greatest number of rows in a batch (default 500).
	BatchRows int
	Logger    *slog.Logger
	// Registerer takes the metrics (default: none).
	Registerer prometheus.Registerer
}

// readTimeout is how long gohbase waits for any answer on a connection before it gives the
// connection up, with every request on it. It must be longer than a filtered scan may stay silent.
const readTimeout = 90 * time.Second

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.Root == "" {
		o.Root = "/hbase"
	}
	if o.User == "" {
		o.User = "tsdbridge"
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.ScanTimeout == 0 {
		o.ScanTimeout = 60 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 2
	}
	if o.InFlight == 0 {
		o.InFlight = 4
	}
	if o.Batches == 0 {
		o.Batches = 32
	}
	if o.BatchRows == 0 {
		o.BatchRows = 500
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate returns what is wrong with the options, naming the flag.
func (o Options) Validate() error {
	switch {
	case strings.Trim(o.ZooKeeper, ", ") == "":
		return errors.New("--hbase.zookeeper is not set")
	case o.Root != "" && !strings.HasPrefix(o.Root, "/"):
		return fmt.Errorf("--hbase.root %q does not begin with a slash", o.Root)
	case o.Timeout < 0 || o.ScanTimeout < 0:
		return errors.New("--hbase.timeout is negative")
	case o.Readers < 0 || o.InFlight < 0 || o.Batches < 0 || o.BatchRows < 0:
		return errors.New("a number of readers, batches or rows is negative")
	}
	return nil
}

// A caller is what the engine uses of a gohbase client.
type caller interface {
	gohbase.RPCClient
	Close()
}

// clients are those of the connections: one for writing, some for reading.
type clients struct {
	writer  caller
	readers []caller
	turn    atomic.Uint32 // of the readers
}

// Engine is a kv.KV on HBase. Safe for concurrent use.
type Engine struct {
	o       Options
	metrics *metrics
	servers *servers // that answered
	clients
	// writes holds a token for each batch of writes in memory, and reads likewise; the gates count
	// those that are sent.
	writes, reads       chan struct{}
	writeGate, readGate *gate
	states              tableStates
	proofs              *proofs
	// background are the closings of scanners that their readers left early.
	background sync.WaitGroup
}

var (
	_ kv.KV        = (*Engine)(nil)
	_ kv.Versioned = (*Engine)(nil)
)

// New returns an engine. It connects to nothing: HBase may be down, and is looked for when it is
// needed.
func New(o Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	e := &Engine{
		o:       o,
		metrics: newMetrics(o.Registerer),
		servers: newServers(),
		proofs:  newProofs(),
		writes:  make(chan struct{}, o.Batches), writeGate: newGate(o.InFlight),
		reads: make(chan struct{}, o.Batches), readGate: newGate(o.InFlight),
	}
	e.states.clients, e.states.log = &e.clients, o.Logger
	e.writer = observed{o.newClient(), e.servers}
	for range o.Readers {
		e.readers = append(e.readers, observed{o.newClient(), e.servers})
	}
	return e, nil
}

// newClient returns a client that sends each request as it comes: the engine makes the batches.
func (o Options) newClient() caller {
	return gohbase.NewClient(o.ZooKeeper,
		gohbase.ZookeeperRoot(o.Root),
		gohbase.EffectiveUser(o.User),
		gohbase.RpcQueueSize(1),
		gohbase.FlushInterval(0),
		gohbase.RegionReadTimeout(readTimeout),
		gohbase.Logger(clientLogger(o.Logger)),
	).(caller)
}

// Close closes the connections, after the scanners that were left early (closeTimeout at most). No
// operation may run, and none may follow.
func (e *Engine) Close() error {
	e.background.Wait()
	e.writer.Close()
	for _, r := range e.readers {
		r.Close()
	}
	return nil
}

// reader returns the next of the reading clients.
func (c *clients) reader() caller {
	return c.readers[int(c.turn.Add(1))%len(c.readers)]
}

// send makes a call and waits for its answer until ctx ends. The call has a goroutine of its own,
// which may outlive this one: gohbase writes to the socket in its caller's goroutine, and a server
// that hangs can block that. So a call must not refer to memory that others use.
func send(ctx context.Context, c gohbase.RPCClient, rpc hrpc.Call) (proto.Message, error) {
	type reply struct {
		msg proto.Message
		err error
	}
	replied := make(chan reply, 1)
	go func() {
		msg, err := c.SendRPC(rpc)
		replied <- reply{msg, err}
	}()
	select {
	case r := <-replied:
		return r.msg, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

package netserver

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PortOptions of a Port. All fields but Reserve must be given.
type PortOptions struct {
	// What is the protocol, for people.
	What string
	// Flag is the flag that sets Max.
	Flag string
	// Max is how many connections are open at once.
	Max int
	// Reserve is how many more are accepted while all of Max are working; see Conn.Reserve.
	Reserve int
	// HeadBytes limits the memory of all heads of requests that are longer than freeHead; 0:
	// nothing is counted. A head in memory is about ten times as large as on the wire.
	HeadBytes int
	// Name is the label port of the metrics.
	Name       string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// A Port is a net.Listener that holds at most so many connections at once. When it is full, the
// next connection takes the place of another one: of one that has never done anything useful, else
// of one that was useful and is quiet. Among these it is of the client address that has most
// connections, and of that address the one that has waited longest. A connection at work keeps its
// place. When all are at work, the next one waits to be accepted.
//
// So silent connections block no others, however many a client opens, and senders may be quiet as
// long as there is room.
type Port struct {
	net.Listener
	o         PortOptions
	displaced prometheus.Counter
	heads     *Gate       // nil: nothing is counted
	warned    time.Time   // of the accept loop
	waiting   atomic.Bool // the accept loop waits for a place

	mu     sync.Mutex // guards all below, and the counts of hosts
	conns  map[*Conn]struct{}
	hosts  map[netip.Addr]*host
	free   *sync.Cond
	look   uint64 // how often a victim was looked for
	closed bool
}

// host is a client address that has connections.
type host struct {
	addr      netip.Addr
	open      int // connections
	strangers int // of them, those that have done nothing useful
}

// NewPort returns a Port over a listener.
func NewPort(l net.Listener, o PortOptions) *Port {
	p := &Port{Listener: l, o: o, conns: map[*Conn]struct{}{}, hosts: map[netip.Addr]*host{}}
	p.free = sync.NewCond(&p.mu)
	if o.HeadBytes > 0 {
		p.heads = NewGate(o.Max, o.HeadBytes)
	}
	p.displaced = p.measure()
	return p
}

// Accept implements net.Listener. One goroutine calls it.
func (p *Port) Accept() (net.Conn, error) {
	accepted, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: accepted, port: p, addr: addrOf(accepted), headShare: Share{Gate: p.heads}}
	c.inHead.Store(p.heads != nil)
	victim, err := p.admit(c)
	if err != nil {
		_ = accepted.Close()
		return nil, err
	}
	if victim != nil {
		p.displaced.Inc()
		p.warn(victim)
		_ = victim.Conn.Close() // who serves it sees that, and closes it once more
	}
	return c, nil
}

// admit adds a connection, and removes another where there is no room.
func (p *Port) admit(c *Conn) (victim *Conn, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.waiting.Store(false)
	for !p.closed {
		if len(p.conns) < p.o.Max {
			p.add(c)
			return nil, nil
		}
		if victim = p.victim(); victim != nil {
			p.remove(victim)
			p.add(c)
			return victim, nil
		}
		if len(p.conns) < p.o.Max+p.o.Reserve {
			c.reserve = true
			p.add(c)
			return nil, nil
		}
		// work that ends from here on wakes us; one more look finds work that ended just before
		if p.waiting.Swap(true) {
			p.free.Wait()
		}
	}
	return nil, net.ErrClosed
}

// victim returns the connection to close, nil when all are at work. A connection with bytes that
// were not read yet counts as at work, but only a few are checked for that. It needs mu.
func (p *Port) victim() *Conn {
	const looks = 8
	var spared *Conn
	p.look++
	for range looks {
		var first *Conn
		for c := range p.conns {
			if c.working.Load() == 0 && c.spared != p.look && (first == nil || c.before(first)) {
				first = c
			}
		}
		if first == nil {
			break
		}
		if !unread(first.Conn) {
			return first
		}
		first.spared, spared = p.look, first
	}
	return spared
}

// before reports whether c is to go before o. It needs the port's mu.
func (c *Conn) before(o *Conn) bool {
	if c.useful != o.useful {
		return o.useful
	}
	if mine, theirs := c.crowd(), o.crowd(); mine != theirs {
		return mine > theirs
	}
	return c.since.Load() < o.since.Load()
}

// crowd returns how many connections like c its address has.
func (c *Conn) crowd() int {
	if c.useful {
		return c.host.open
	}
	return c.host.strangers
}

// add needs mu.
func (p *Port) add(c *Conn) {
	h := p.hosts[c.addr]
	if h == nil {
		h = &host{addr: c.addr}
		p.hosts[c.addr] = h
	}
	h.open++
	h.strangers++
	c.host = h
	c.since.Store(time.Now().UnixNano())
	p.conns[c] = struct{}{}
}

// remove needs mu. It ignores connections that were removed already.
func (p *Port) remove(c *Conn) {
	if _, ok := p.conns[c]; !ok {
		return
	}
	delete(p.conns, c)
	if !c.useful {
		c.host.strangers--
	}
	if c.host.open--; c.host.open == 0 {
		delete(p.hosts, c.host.addr)
	}
}

// meet notes that a connection is useful.
func (p *Port) meet(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.conns[c]; ok && !c.useful {
		c.host.strangers--
	}
	c.useful = true
}

// forget notes that a connection is closed.
func (p *Port) forget(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(c)
	p.free.Signal()
}

// wake makes the accept loop look again.
func (p *Port) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free.Signal()
}

// warnPause is how long the log keeps silent about further connections that are closed for others.
const warnPause = 10 * time.Second

func (p *Port) warn(victim *Conn) {
	if now := time.Now(); now.Sub(p.warned) >= warnPause {
		p.warned = now
		p.o.Logger.Warn("as many connections as allowed are open, silent ones are closed for new ones; see TsdbridgePortFull in docs/monitoring.md", "protocol", p.o.What,
			"limit", p.o.Flag, "connections", p.o.Max, "client", victim.RemoteAddr().String())
	}
}

// Close implements net.Listener. Connections stay open.
func (p *Port) Close() error {
	p.mu.Lock()
	p.closed = true
	p.free.Broadcast()
	p.mu.Unlock()
	return p.Listener.Close()
}

func addrOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

package netserver

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// crowd is a listener of connections that a test makes, by address.
type crowd struct {
	t    *testing.T
	port *Port
	next chan net.Conn
}

func newCrowd(t *testing.T, highest, reserve int) *crowd {
	t.Helper()
	c := &crowd{t: t, next: make(chan net.Conn, 100)}
	c.port = NewPort(c, PortOptions{
		What: "test", Flag: "--test", Max: highest, Reserve: reserve, Name: "test", Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	return c
}

func (c *crowd) Accept() (net.Conn, error) { return <-c.next, nil }
func (c *crowd) Close() error              { return nil }
func (c *crowd) Addr() net.Addr            { return nil }

// come makes the listener accept a connection from an address.
func (c *crowd) come(host string) *Conn {
	c.t.Helper()
	c.next <- &guest{addr: &net.TCPAddr{IP: net.ParseIP(host)}}
	conn, err := c.port.Accept()
	if err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(time.Millisecond) // of the bubble's clock: none came at the same time
	return conn.(*Conn)
}

// guest is a connection that only records whether it is closed.
type guest struct {
	net.Conn
	addr   net.Addr
	closed bool
}

func (g *guest) RemoteAddr() net.Addr { return g.addr }
func (g *guest) Close() error         { g.closed = true; return nil }

func (c *Conn) gone() bool { return c.Conn.(*guest).closed }

func (c *Conn) work() *Conn {
	c.Begin()
	c.End(true)
	return c
}

func TestPortDisplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 6, 0)
		sender := c.come("10.0.0.1").work()
		relay := []*Conn{c.come("10.0.0.2").work(), c.come("10.0.0.2").work()}
		silent := []*Conn{c.come("10.0.0.3"), c.come("10.0.0.4"), c.come("10.0.0.4")}
		busy := silent[0]
		busy.Begin()
		// First a silent connection of the address with two goes, then the oldest silent one.
		for i, want := range []*Conn{silent[1], silent[2]} {
			if next := c.come("10.0.0.5").work(); !want.gone() || next.gone() {
				t.Fatalf("guest %d: the wrong one went", i)
			}
		}
		// All silent ones are gone. 10.0.0.2 and 10.0.0.5 have two connections each; those of 10.0.0.2
		// have been quiet for longer.
		if c.come("10.0.0.6").work(); !relay[0].gone() || relay[1].gone() || sender.gone() || busy.gone() {
			t.Error("the connection that should go is the quietest one of the address with most connections")
		}
		if got := testutil.ToFloat64(c.port.displaced); got != 3 {
			t.Errorf("%v displaced, want 3", got)
		}
	})
}

// A working connection is served in spite of any number of silent ones, and a connection that ends
// frees its place.
func TestPortSilentFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 10, 0)
		var senders []*Conn
		for range 5 {
			senders = append(senders, c.come("10.0.0.1").work())
		}
		for range 1000 {
			c.come("10.0.0.1")
		}
		for i, s := range senders {
			if s.gone() {
				t.Errorf("sender %d was shut out by silent connections", i)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := len(c.port.conns); n != 5 {
			t.Errorf("%d connections, want those 5 that closed gone", n)
		}
		displaced := testutil.ToFloat64(c.port.displaced)
		for range 5 {
			c.come("10.0.0.1")
		}
		if got := testutil.ToFloat64(c.port.displaced); got != displaced {
			t.Error("there was room, and one went")
		}
	})
}

// When all connections work, a reserve is let in, and then the next one waits until another has
// finished.
func TestPortAllAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2, 1)
		a, b := c.come("10.0.0.1"), c.come("10.0.0.2")
		a.Begin()
		a.Begin() // a second request of HTTP/2
		b.Begin()
		reserve := c.come("10.0.0.3")
		if a.Reserve() || b.Reserve() || !reserve.Reserve() {
			t.Error("only the third is of the reserve")
		}
		reserve.Begin()
		entered := make(chan *Conn)
		go func() { entered <- c.come("10.0.0.4") }()
		synctest.Wait()
		a.End(true)
		synctest.Wait()
		select {
		case <-entered:
			t.Fatal("let in while all work")
		default:
		}
		a.End(true)
		if <-entered; !a.gone() {
			t.Error("the one that works no more is still there")
		}
		// Closing the port ends waiting.
		go func() {
			c.next <- &guest{addr: &net.TCPAddr{}}
			conn, err := c.port.Accept()
			if conn != nil {
				t.Errorf("accepted, %v", err)
			}
			close(entered)
		}()
		for conn := range c.port.conns {
			conn.Begin()
		}
		synctest.Wait()
		_ = c.port.Close()
		<-entered
	})
}

// A client that reads nothing is cut off after a while; one that reads some is not.
func TestConnWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1, 0)
		near, far := net.Pipe()
		conn := &Conn{Conn: near, port: c.port}
		begin := time.Now()
		if _, err := conn.Write([]byte("x")); err == nil || time.Since(begin) > writeTimeout {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		near, far = net.Pipe()
		conn = &Conn{Conn: near, port: c.port}
		got := make(chan int)
		go func() {
			n := 0
			for b := make([]byte, writePiece/2); ; {
				time.Sleep(writeTimeout / 4)
				read, err := io.ReadFull(far, b)
				if n += read; err != nil {
					got <- n
					return
				}
			}
		}()
		text := strings.Repeat("x", 10*writePiece)
		n, err := conn.Write([]byte(text))
		_ = near.Close()
		if r := <-got; err != nil || n != len(text) || r != n {
			t.Errorf("written %d, read %d, %v", n, r, err)
		}
		// A deadline that the protocol sets is kept.
		near, _ = net.Pipe()
		conn = &Conn{Conn: near, port: c.port}
		begin = time.Now()
		if err := conn.SetWriteDeadline(begin.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("x")); err == nil || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestConnOf(t *testing.T) {
	c := &Conn{Conn: &guest{}}
	if ConnOf(t.Context()) != nil || ConnOf(WithConn(t.Context(), &guest{})) != nil {
		t.Error("a connection out of nothing")
	}
	if ConnOf(WithConn(t.Context(), wrapped{wrapped{c}})) != c {
		t.Error("the connection is not found")
	}
	var none *Conn
	none.Begin()
	none.End(true)
	if none.Reserve() {
		t.Error("none is of the reserve")
	}
}

type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

// The log names the flag, once in a while.
func TestPortWarns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		c := newCrowd(t, 1, 0)
		c.port.o.Logger = slog.New(slog.NewTextHandler(&said, nil))
		for range 100 {
			c.come("10.0.0.1")
		}
		if n := strings.Count(said.String(), "limit=--test"); n != 1 {
			t.Errorf("said %d times:\n%s", n, said.String())
		}
	})
}

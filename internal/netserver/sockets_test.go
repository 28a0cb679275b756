package netserver

import (
	"net"
	"os"
	"strings"
	"testing"
)

// fileOf returns the file of a bound socket, as a service manager passes it, and its address. The
// socket itself is closed.
func fileOf(t *testing.T, network, address string) (*os.File, string) {
	t.Helper()
	var (
		f    *os.File
		addr net.Addr
		err  error
	)
	if network == "udp" {
		p, listenErr := net.ListenPacket("udp", address)
		if listenErr != nil {
			t.Fatal(listenErr)
		}
		defer p.Close()
		addr = p.LocalAddr()
		f, err = p.(*net.UDPConn).File()
	} else {
		l, listenErr := net.Listen(network, address)
		if listenErr != nil {
			t.Fatal(listenErr)
		}
		defer l.Close()
		addr = l.Addr()
		f, err = l.(interface{ File() (*os.File, error) }).File()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, addr.String()
}

// A socket is taken by who asks for its address, once; what remains is named.
func TestSockets(t *testing.T) {
	tcp, tcpAddr := fileOf(t, "tcp", "127.0.0.1:0")
	udp, udpAddr := fileOf(t, "udp", "127.0.0.1:0")
	s, err := NewSockets([]*os.File{tcp, udp})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Unused(); err == nil || !strings.Contains(err.Error(), "tcp "+tcpAddr) || !strings.Contains(err.Error(), "udp "+udpAddr) {
		t.Errorf("unused: %v, want both", err)
	}
	l, err := s.Listen(t.Context(), net.ListenConfig{}, tcpAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := s.ListenPacket(t.Context(), net.ListenConfig{}, udpAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if l.Addr().String() != tcpAddr || p.LocalAddr().String() != udpAddr || s.Unused() != nil {
		t.Errorf("took %s and %s of %s and %s, unused %v", l.Addr(), p.LocalAddr(), tcpAddr, udpAddr, s.Unused())
	}
	if _, err := s.Listen(t.Context(), net.ListenConfig{}, tcpAddr); err == nil {
		t.Error("an address was taken twice")
	}
}

// One socket of all addresses is not taken for one address: it would serve more than asked for.
func TestSocketsOfMoreAddresses(t *testing.T) {
	tcp, addr := fileOf(t, "tcp", ":0")
	s, err := NewSockets([]*os.File{tcp})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, port, _ := net.SplitHostPort(addr)
	_, err = s.Listen(t.Context(), net.ListenConfig{}, "127.0.0.1:"+port)
	if err == nil || !strings.Contains(err.Error(), "the service manager has bound tcp [::]:"+port) {
		t.Errorf("listen at one address of a socket of all: %v", err)
	}
	l, err := s.Listen(t.Context(), net.ListenConfig{}, ":"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// Other sockets, and files that are none, are refused by name.
func TestSocketsThatAreNone(t *testing.T) {
	unix, _ := fileOf(t, "unix", t.TempDir()+"/s")
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{unix, file} {
		if _, err := NewSockets([]*os.File{f}); err == nil || !strings.Contains(err.Error(), f.Name()) {
			t.Errorf("%s: %v, want an error that names it", f.Name(), err)
		}
	}
}

// Without sockets of a service manager the port is bound.
func TestNoSockets(t *testing.T) {
	var s *Sockets
	l, err := s.Listen(t.Context(), net.ListenConfig{}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := s.Listen(t.Context(), net.ListenConfig{}, l.Addr().String()); err == nil {
		t.Error("bound twice")
	}
	p, err := s.ListenPacket(t.Context(), net.ListenConfig{}, "127.0.0.1:0")
	if err != nil || s.Unused() != nil || s.Close() != nil {
		t.Fatalf("%v, unused %v", err, s.Unused())
	}
	_ = p.Close()
}

package netserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Sockets are bound sockets that the service manager has passed to the process, as systemd does for
// a .socket unit. A port whose address one of them has is taken from here and not bound anew, so
// connections wait instead of being refused while the process is restarted. A nil *Sockets has none.
type Sockets struct {
	mu  sync.Mutex
	tcp []net.Listener
	udp []net.PacketConn
}

// NewSockets takes over the files, which it closes.
func NewSockets(files []*os.File) (*Sockets, error) {
	s := &Sockets{}
	for _, f := range files {
		if err := s.add(f); err != nil {
			return nil, errors.Join(fmt.Errorf("socket %s of the service manager: %w", f.Name(), err), s.Close())
		}
	}
	return s, nil
}

func (s *Sockets) add(f *os.File) error {
	defer f.Close()
	if l, err := net.FileListener(f); err == nil {
		s.tcp = append(s.tcp, l)
		if _, ok := l.Addr().(*net.TCPAddr); !ok {
			return fmt.Errorf("%s is not TCP", l.Addr())
		}
		return nil
	}
	p, err := net.FilePacketConn(f)
	if err != nil {
		return err
	}
	s.udp = append(s.udp, p)
	if _, ok := p.LocalAddr().(*net.UDPAddr); !ok {
		return fmt.Errorf("%s is not UDP", p.LocalAddr())
	}
	return nil
}

// Listen returns the socket that is bound to the address, or binds it.
func (s *Sockets) Listen(ctx context.Context, config net.ListenConfig, address string) (net.Listener, error) {
	if want, err := net.ResolveTCPAddr("tcp", address); err == nil {
		if l, ok := take(s, &s.orNone().tcp, net.Listener.Addr, want.IP, want.Port); ok {
			return l, nil
		}
	}
	l, err := config.Listen(ctx, "tcp", address)
	return l, s.explain(err, address)
}

// ListenPacket is Listen for UDP.
func (s *Sockets) ListenPacket(ctx context.Context, config net.ListenConfig, address string) (net.PacketConn, error) {
	if want, err := net.ResolveUDPAddr("udp", address); err == nil {
		if p, ok := take(s, &s.orNone().udp, net.PacketConn.LocalAddr, want.IP, want.Port); ok {
			return p, nil
		}
	}
	p, err := config.ListenPacket(ctx, "udp", address)
	return p, s.explain(err, address)
}

// orNone returns s, or empty Sockets for nil.
func (s *Sockets) orNone() *Sockets {
	if s == nil {
		return &Sockets{}
	}
	return s
}

// take removes the socket with the address from a list and returns it. One that is bound to more
// addresses than asked for does not fit.
func take[S any](s *Sockets, from *[]S, addr func(S) net.Addr, ip net.IP, port int) (found S, ok bool) {
	if s == nil || port == 0 {
		return found, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, socket := range *from {
		has, hasPort := split(addr(socket))
		if hasPort == port && (has.Equal(ip) || ip == nil && has.IsUnspecified()) {
			*from = append((*from)[:i:i], (*from)[i+1:]...)
			return socket, true
		}
	}
	return found, false
}

func split(a net.Addr) (net.IP, int) {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP, a.Port
	case *net.UDPAddr:
		return a.IP, a.Port
	}
	return nil, 0
}

func portOf(a net.Addr) int {
	_, port := split(a)
	return port
}

// explain adds to the error of a port in use that the service manager has it.
func (s *Sockets) explain(err error, address string) error {
	if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	for _, a := range s.unused() {
		if strings.HasSuffix(address, fmt.Sprintf(":%d", portOf(a))) {
			return fmt.Errorf("%w (the service manager has bound %s %s: both must name the same address)", err, a.Network(), a)
		}
	}
	return err
}

func (s *Sockets) unused() []net.Addr {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []net.Addr
	for _, l := range s.tcp {
		all = append(all, l.Addr())
	}
	for _, p := range s.udp {
		all = append(all, p.LocalAddr())
	}
	return all
}

// Unused returns an error that names the sockets which nobody has taken: their clients would wait
// for ever.
func (s *Sockets) Unused() error {
	var names []string
	for _, a := range s.unused() {
		names = append(names, a.Network()+" "+a.String())
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("the service manager has bound %s, which no flag names as an address to listen at", strings.Join(names, ", "))
}

// Close closes the sockets that nobody has taken.
func (s *Sockets) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, l := range s.tcp {
		err = errors.Join(err, l.Close())
	}
	for _, p := range s.udp {
		err = errors.Join(err, p.Close())
	}
	s.tcp, s.udp = nil, nil
	return err
}

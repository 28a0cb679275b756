package webconfig

import (
	"hash/maphash"
	"net/netip"
	"sync"
)

// otherLines is how many lines there are for users that do not exist.
const otherLines = 64

// lines has a line for each user of the file. Names that are no users share some of their own, chosen by a secret
// hash: guesses at one name and at many then wait as they do for users, without being in their way.
type lines struct {
	seed   maphash.Seed
	others [otherLines]*line

	mu    sync.Mutex       // guards users
	users map[string]*line // of all names that the file ever had
}

func newLines() *lines {
	l := &lines{seed: maphash.MakeSeed(), users: map[string]*line{}}
	for i := range l.others {
		l.others[i] = newLine()
	}
	return l
}

// of returns the line of a name.
func (l *lines) of(name string, exists bool) *line {
	if !exists {
		return l.others[maphash.String(l.seed, name)%otherLines]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users[name] == nil {
		l.users[name] = newLine()
	}
	return l.users[name]
}

// A client is the address that a request comes from, and its connection.
type client struct{ address, connection string }

// clientOf returns the client of a remote address with a port. A network of IPv6 with 64 bits is one address: anybody
// has as many of its addresses as he likes.
func clientOf(remote string) client {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return client{remote, remote}
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			return client{network.String(), remote}
		}
	}
	return client{address.String(), remote}
}

package hbase

import (
	"context"
	"sync"

	"github.com/tsuna/gohbase/hrpc"
)

// A gate bounds the requests that are in flight to each region server. A server that is slow or
// hangs delays only the requests to itself, until their time is up.
type gate struct {
	places  int // for requests to one server
	mu      sync.Mutex
	servers map[string]chan struct{} // by address; guarded by mu
}

func newGate(places int) *gate { return &gate{places: places, servers: map[string]chan struct{}{}} }

// enter waits for a place at the server of a region and returns where it is to be given back; nil
// if ctx ended before.
func (g *gate) enter(ctx context.Context, region hrpc.RegionInfo) chan struct{} {
	server := ""
	if client := region.Client(); client != nil { // the region may be lost again by now
		server = client.Addr()
	}
	places := g.at(server)
	select {
	case places <- struct{}{}:
		return places
	case <-ctx.Done():
		return nil
	}
}

func (g *gate) at(server string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	places := g.servers[server]
	if places == nil {
		places = make(chan struct{}, g.places)
		g.servers[server] = places
	}
	return places
}

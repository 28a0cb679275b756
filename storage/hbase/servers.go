package hbase

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"

	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

const (
	// lastTook is how many times of each server are kept: those of its last requests.
	lastTook = 512
	// mostRegions bounds the regions that are known; regionAge is how long one is shown that no request was sent to.
	mostRegions = 50_000
	regionAge   = time.Hour
	// mostErrorText is how many bytes of the last error of a server are kept.
	mostErrorText = 300
)

// A ServerStats tells how a region server answered.
type ServerStats struct {
	Server   string
	Regions  int // to which requests were sent within the last hour
	Requests int64
	Errors   int64
	// P50 and P99 are of the times of the last requests, with all retries of gohbase, and without those that failed.
	P50, P99    time.Duration
	LastError   string // empty: none
	LastErrorAt time.Time
}

// servers notes how region servers answer. It is safe for concurrent use.
type servers struct {
	mu      sync.Mutex // guards all below
	servers map[string]*server
	regions map[string]regionAt // by name
}

type server struct {
	ServerStats

	took [lastTook]time.Duration
	n    int // so far
}

type regionAt struct {
	table, server string
	last          time.Time
}

func newServers() *servers {
	return &servers{servers: map[string]*server{}, regions: map[string]regionAt{}}
}

// observed notes the answers to the requests of a client.
type observed struct {
	caller

	servers *servers
}

// SendRPC implements gohbase.RPCClient.
func (o observed) SendRPC(rpc hrpc.Call) (proto.Message, error) {
	_, span := tracing.Start(rpc.Context(), "hbase "+rpc.Name())
	begin := time.Now()
	msg, err := o.caller.SendRPC(rpc)
	region := rpc.Region()
	if region == nil {
		span.End(err)
		return msg, err // it was sent nowhere
	}
	at := regionAt{table: string(region.Table()), last: time.Now()}
	if client := region.Client(); client != nil {
		at.server = client.Addr()
	}
	span.Text("table", at.table)
	span.Text("server", at.server)
	span.End(err)
	o.servers.note(string(region.Name()), at, at.last.Sub(begin), err)
	return msg, err
}

// note notes an answer. Without a server the region has been lost, and nothing is known of where it was.
func (s *servers) note(region string, at regionAt, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.server == "" {
		at.server = s.regions[region].server
	}
	of := s.servers[at.server]
	if of == nil {
		of = &server{ServerStats: ServerStats{Server: at.server}}
		s.servers[at.server] = of
	}
	if len(s.regions) >= mostRegions {
		clear(s.regions)
	}
	s.regions[region] = at
	of.Requests++
	if errors.Is(err, context.Canceled) {
		return // nobody waited for it any more: that is no failure of the server
	}
	if err != nil {
		of.Errors++
		text := err.Error()
		of.LastError, of.LastErrorAt = strings.ToValidUTF8(text[:min(len(text), mostErrorText)], ""), at.last
		return
	}
	of.took[of.n%lastTook] = took
	of.n++
}

// Servers returns the region servers that requests were sent to, by their names.
func (e *Engine) Servers() []ServerStats { return e.servers.list(time.Now()) }

// Regions returns how many regions of each table requests were sent to within the last hour.
func (e *Engine) Regions() map[string]int {
	e.servers.mu.Lock()
	defer e.servers.mu.Unlock()
	tables, now := map[string]int{}, time.Now()
	for _, r := range e.servers.regions {
		if now.Sub(r.last) < regionAge {
			tables[r.table]++
		}
	}
	return tables
}

func (s *servers) list(now time.Time) []ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	regions := map[string]int{}
	for _, r := range s.regions {
		if now.Sub(r.last) < regionAge {
			regions[r.server]++
		}
	}
	list := make([]ServerStats, 0, len(s.servers))
	for name, of := range s.servers {
		stats := of.ServerStats
		stats.Regions = regions[name]
		if took := slices.Sorted(slices.Values(of.took[:min(of.n, lastTook)])); len(took) > 0 {
			stats.P50, stats.P99 = took[len(took)/2], took[len(took)*99/100]
		}
		list = append(list, stats)
	}
	slices.SortFunc(list, func(a, b ServerStats) int { return cmp.Compare(a.Server, b.Server) })
	return list
}

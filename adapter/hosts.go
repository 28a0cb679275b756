package adapter

import (
	"fmt"
	"net/url"
	"os"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// hosts returns the names by which browsers may reach the HTTP ports: those of --web.hosts, and those that the other
// flags and the machine tell.
func (o Options) hosts() (*netserver.Hosts, error) {
	hosts, err := netserver.ParseHosts(o.Hosts)
	if err != nil {
		return nil, fmt.Errorf("--web.hosts: %w", err)
	}
	if external, err := url.Parse(o.ExternalURL); err == nil {
		hosts.Add(external.Host)
	}
	if own, err := os.Hostname(); err == nil {
		hosts.Add(own)
	}
	hosts.Add(o.ListenAddress, o.OpenTSDB.ListenAddress)
	return hosts, nil
}

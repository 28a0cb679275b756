package opentsdb

import (
	"os"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// about answers the commands version and stats.
type about struct {
	o          listenerOptions
	host       string
	statistics func() []httpapi.Statistic
}

// hostname returns the name of this machine, as statistics show it.
func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return host
}

// Version returns the answer to version: two lines, as a TSD has them, the revision and the build.
func (a *about) Version() string {
	return "tsdbridge " + a.o.Version + " built at revision " + a.o.Revision + "\nBuilt with " + a.o.Build
}

// AppendStats appends the statistics, one "tsd.name timestamp value tags" a line.
func (a *about) AppendStats(b []byte) []byte {
	now := a.o.Now()
	for _, s := range a.statistics() {
		b = s.Line(b, now, a.host)
	}
	return b
}

// statistics are those of the port's connections.
func (l *listener) statistics() []httpapi.Statistic {
	return []httpapi.Statistic{
		{Name: "connectionmgr.connections", Value: l.metrics.open.Load(), Tags: "type=open"},
		{Name: "connectionmgr.connections", Value: l.metrics.total.Load(), Tags: "type=total"},
		{Name: "rpc.received", Value: l.metrics.lines.Load(), Tags: "type=telnet"},
		{Name: "rpc.errors", Value: l.metrics.bad.Load(), Tags: "type=invalid_values"},
	}
}

package opentsdb

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/tsdbridge/tsdbridge/opentsdb/api"
)

// about answers the commands version and stats.
type about struct {
	o          listenerOptions
	host       string
	statistics func() []api.Statistic
}

// hostname returns the name of this machine, as statistics show it.
func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return host
}

// telnet returns the answer to version: two lines, as a TSD has them, the revision and the build.
func (a *about) telnet() string {
	return "tsdbridge " + a.o.Version + " built at revision " + a.o.Revision + "\nBuilt with " + a.o.Build
}

// appendStats appends the statistics, one "tsd.name timestamp value tags" a line.
func (a *about) appendStats(b []byte) []byte {
	now := a.o.Now()
	for _, s := range a.statistics() {
		b = s.Line(b, now, a.host)
	}
	return b
}

// statistics are those of the port's connections.
func (l *listener) statistics() []api.Statistic {
	return []api.Statistic{
		{Name: "connectionmgr.connections", Value: l.metrics.open.Load(), Tags: "type=open"},
		{Name: "connectionmgr.connections", Value: l.metrics.total.Load(), Tags: "type=total"},
		{Name: "rpc.received", Value: l.metrics.lines.Load(), Tags: "type=telnet"},
		{Name: "rpc.errors", Value: l.metrics.bad.Load(), Tags: "type=invalid_values"},
	}
}

// statistics are those of puts, of telnet and HTTP together.
func (in *putStore) statistics() []api.Statistic {
	both := func(telnet, http prometheus.Counter) int64 { return countOf(telnet) + countOf(http) }
	return []api.Statistic{
		{Name: "rpc.received", Value: both(in.telnet.Received, in.http.Received), Tags: "type=put"},
		{Name: "rpc.errors", Value: countOf(in.http.Rejected), Tags: "type=illegal_arguments"},
		{Name: "rpc.errors", Value: both(in.telnet.Failed, in.http.Failed), Tags: "type=hbase_errors"},
		{Name: "datapoints.added", Value: both(in.telnet.Written, in.http.Written), Tags: "type=all"},
	}
}

// countOf reads a counter.
func countOf(c prometheus.Counter) int64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0
	}
	return int64(m.GetCounter().GetValue())
}

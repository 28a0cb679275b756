package opentsdb

import (
	"strconv"
	"time"
)

// about answers the commands version and stats.
type about struct {
	o       listenerOptions
	host    string
	metrics *listenerMetrics
}

// telnet returns the answer to version: two lines, as a TSD has them, the revision and the build.
func (a *about) telnet() string {
	return "tsdbridge " + a.o.Version + " built at revision " + a.o.Revision + "\nBuilt with " + a.o.Build
}

// appendStats appends what a TSD tells about its connections, one "tsd.name timestamp value tags" a
// line.
func (a *about) appendStats(b []byte) []byte {
	now := a.o.Now()
	b = a.appendStat(b, now, "connectionmgr.connections", a.metrics.open.Load(), "type=open")
	b = a.appendStat(b, now, "connectionmgr.connections", a.metrics.total.Load(), "type=total")
	b = a.appendStat(b, now, "rpc.received", a.metrics.lines.Load(), "type=telnet")
	b = a.appendStat(b, now, "rpc.errors", a.metrics.bad.Load(), "type=invalid_values")
	return b
}

func (a *about) appendStat(b []byte, now time.Time, name string, value int64, tag string) []byte {
	b = append(append(b, "tsd."...), name...)
	b = strconv.AppendInt(append(b, ' '), now.Unix(), 10)
	b = strconv.AppendInt(append(b, ' '), value, 10)
	return append(b, " host="+a.host+" "+tag+"\n"...)
}

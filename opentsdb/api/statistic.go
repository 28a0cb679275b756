package api

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Statistic is what a TSD's statistics say in one line: "tsd.name timestamp value host=… tags". Tags is
// empty or "key=value", with blanks between several.
type Statistic struct {
	Name  string
	Value int64
	Tags  string
}

// counters count the requests of an API.
type counters struct {
	requests, exceptions       atomic.Int64
	succeeded, refused, broken atomic.Int64 // queries
}

// query counts a query that has ended.
func (c *counters) query(err error) {
	switch {
	case err == nil:
		c.succeeded.Add(1)
	case statusOf(err).Status < http.StatusInternalServerError:
		c.refused.Add(1)
	default:
		c.broken.Add(1)
	}
}

// Statistics returns what the API and the process tell about themselves, by the names of a TSD. Those of
// its JVM and of HBase's client have no counterpart and are left out.
func (a *API) Statistics() []Statistic {
	var all []Statistic
	if a.o.Statistics != nil {
		all = a.o.Statistics()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return append(
		all,
		Statistic{"rpc.received", a.count.requests.Load(), "type=http"},
		Statistic{"rpc.exceptions", a.count.exceptions.Load(), ""},
		Statistic{"http.query.success", a.count.succeeded.Load(), ""},
		Statistic{"http.query.invalid_requests", a.count.refused.Load(), ""},
		Statistic{"http.query.exceptions", a.count.broken.Load(), ""},
		Statistic{"jvm.ramfree", int64(m.HeapIdle), ""}, //nolint:gosec // far below 2^63
		Statistic{"jvm.ramused", int64(m.HeapInuse), ""},
		Statistic{"jvm.thread.count", int64(runtime.NumGoroutine()), ""},
	)
}

// Line appends a statistic as telnet and /stats show it.
func (s Statistic) Line(b []byte, now time.Time, host string) []byte {
	b = fmt.Appendf(b, "tsd.%s %d %d host=%s", s.Name, now.Unix(), s.Value, host)
	if s.Tags != "" {
		b = append(append(b, ' '), s.Tags...)
	}
	return append(b, '\n')
}

// document is a statistic in JSON, as a point of a put has it.
func (s Statistic) document(now time.Time, host string) any {
	tags := map[string]string{"host": host}
	for tag := range strings.FieldsSeq(s.Tags) {
		key, value, _ := strings.Cut(tag, "=")
		tags[key] = value
	}
	return map[string]any{"metric": "tsd." + s.Name, "timestamp": now.Unix(), "value": strconv.FormatInt(s.Value, 10), "tags": tags}
}

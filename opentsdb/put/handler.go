package put

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// HandlerOptions are the limits of OpenTSDB's HTTP API. A request over a limit of requests is refused
// for good; above a limit of the process the client must try again later.
type HandlerOptions struct {
	BodyBytes     int           // a request, as it is sent and decompressed each
	Points        int           // of a request
	Requests      int           // requests at once
	InFlightBytes int           // bodies of all requests at once
	Timeout       time.Duration // how long the store may take
}

// DefaultHandlerOptions are limits for large requests; a TSD takes bodies of 4096 bytes unless it is
// told otherwise.
func DefaultHandlerOptions() HandlerOptions {
	return HandlerOptions{BodyBytes: 32 << 20, Points: 500_000, Requests: 256, InFlightBytes: 256 << 20, Timeout: 20 * time.Second}
}

// Waiting returns the options with time for one operation of the store, and for the rest of a put.
func (o HandlerOptions) Waiting(store time.Duration) HandlerOptions {
	o.Timeout = Outlasting(o.Timeout, store)
	return o
}

// Outlasting returns a timeout of requests that write. It leaves time for one operation of the
// store, and for the rest of the request.
func Outlasting(timeout, store time.Duration) time.Duration {
	return max(timeout, store+5*time.Second)
}

// Validate names the flag that cannot work.
func (o HandlerOptions) Validate() error {
	for _, positive := range []struct {
		flag  string
		value int64
	}{
		{"opentsdb: BodyBytes", int64(o.BodyBytes)},
		{"opentsdb: Points", int64(o.Points)},
		{"opentsdb: Requests", int64(o.Requests)},
		{"opentsdb: Timeout", int64(o.Timeout)},
	} {
		if positive.value <= 0 {
			return fmt.Errorf("%s must be above 0", positive.flag)
		}
	}
	if o.InFlightBytes < 2*o.BodyBytes {
		return fmt.Errorf("opentsdb: InFlightBytes=%d: one request may take %d", o.InFlightBytes, 2*o.BodyBytes)
	}
	return nil
}

// Handler is OpenTSDB's HTTP API: the way to put points, and the other endpoints behind it.
type Handler struct {
	o       HandlerOptions
	puts    *Store
	others  http.Handler
	origins *httpapi.Origins
	handler http.Handler // for all of them
	gate    *netserver.Gate
	turns   *query.Turns // of those that decompress or parse large bodies
}

// NewHandler returns the API over a Store. The options are valid. Pages of the origins may use it.
func NewHandler(o HandlerOptions, puts *Store, others http.Handler, origins *httpapi.Origins) *Handler {
	a := &Handler{o: o, puts: puts, others: others, origins: origins, gate: netserver.NewGate(o.Requests, o.InFlightBytes), turns: query.NewTurns(runtime.GOMAXPROCS(0))}
	a.handler = origins.Handler(http.HandlerFunc(a.serve))
	return a
}

// InFlight returns how many bytes the bodies of requests under way have.
func (a *Handler) InFlight() int64 { return a.gate.Bytes() }

// Protect has the API ask for passwords: all of it, or all but puts.
func (a *Handler) Protect(protect func(http.Handler) http.Handler, openPuts bool) {
	if openPuts {
		a.others = protect(a.others)
		return
	}
	a.handler = a.origins.Handler(protect(http.HandlerFunc(a.serve))) // a browser asks about other origins without a password
}

// ServeHTTP implements http.Handler. Endpoints are named in any case, and after a version perhaps:
// /api/put, /API/v1/Put.
func (a *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := netserver.ConnOf(r.Context())
	conn.Headed()
	defer conn.Answered()
	a.handler.ServeHTTP(w, r)
}

// errBusy is the answer while too much is under way.
var errBusy = httpapi.Error{Status: http.StatusServiceUnavailable, Message: "Please throttle", Details: "Too many requests at once, try again later"}

func (a *Handler) serve(w http.ResponseWriter, r *http.Request) {
	switch endpoint := putEndpoint(r.URL.Path); {
	case endpoint == "" || a.puts.o.ReadOnly:
		a.others.ServeHTTP(w, r)
	case endpoint == rollupEndpoint:
		a.serveRollup(w, r)
	default:
		a.servePut(w, r, endpoint == histogramEndpoint)
	}
}

// The endpoints that put points.
const (
	pointEndpoint     = "put"
	histogramEndpoint = "histogram"
	rollupEndpoint    = "rollup"
)

// putEndpoint returns the endpoint of a path if it is one that puts points, else "".
func putEndpoint(path string) string {
	if path == "/api/put" {
		return pointEndpoint
	}
	if p, err := httpapi.ParsePath(path); err == nil && slices.Contains([]string{pointEndpoint, histogramEndpoint, rollupEndpoint}, p.Endpoint) {
		return p.Endpoint
	}
	return ""
}

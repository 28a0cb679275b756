package opentsdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/ingest/listen"
	"github.com/tsdbridge/tsdbridge/turns"
)

// apiOptions are the limits of OpenTSDB's HTTP API. A request over a limit of requests is refused
// for good; above a limit of the process the client must try again later.
type apiOptions struct {
	BodyBytes     int           // a request, as it is sent and decompressed each
	Points        int           // of a request
	Requests      int           // requests at once
	InFlightBytes int           // bodies of all requests at once
	Timeout       time.Duration // how long the store may take
}

// defaultAPIOptions are limits for large requests; a TSD takes bodies of 4096 bytes unless it is
// told otherwise.
func defaultAPIOptions() apiOptions {
	return apiOptions{BodyBytes: 32 << 20, Points: 500_000, Requests: 256, InFlightBytes: 256 << 20, Timeout: 20 * time.Second}
}

// Validate names the flag that cannot work.
func (o apiOptions) Validate() error {
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

// httpAPI is OpenTSDB's HTTP API: the way to put points, and the other endpoints behind it.
type httpAPI struct {
	o      apiOptions
	puts   *putStore
	others http.Handler
	gate   *listen.Gate
	turns  *turns.Turns // of those that decompress or parse large bodies
}

// newAPI returns the API over a putStore. The options are valid.
func newAPI(o apiOptions, puts *putStore, others http.Handler) *httpAPI {
	return &httpAPI{o: o, puts: puts, others: others, gate: listen.NewGate(o.Requests, o.InFlightBytes), turns: turns.New(runtime.GOMAXPROCS(0))}
}

// ServeHTTP implements http.Handler. Endpoints are named in any case, and after a version perhaps:
// /api/put, /API/v1/Put.
func (a *httpAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := listen.ConnOf(r.Context())
	conn.Headed()
	defer conn.Answered()
	endpoint, err := apiEndpoint(r.URL.Path)
	switch {
	case err == nil && endpoint == "put":
		a.servePut(w, r)
	default:
		a.others.ServeHTTP(w, r)
	}
}

// apiError is an answer other than success.
type apiError struct {
	status  int
	message string
	details string
}

func (e apiError) Error() string { return e.message }

var (
	errEndpoint = apiError{status: http.StatusNotFound, message: "Endpoint not found"}
	errBusy     = apiError{status: http.StatusServiceUnavailable, message: "Please throttle", details: "Too many requests at once, try again later"}
)

// maxVersion is that of the API; see /api/v1/put.
const maxVersion = 1

// apiEndpoint returns the endpoint of a path in lower case, as OpenTSDB's
// HttpQuery.getQueryBaseRoute does.
func apiEndpoint(path string) (string, error) {
	if path == "/api/put" {
		return "put", nil
	}
	parts := strings.Split(strings.ToLower(strings.Trim(path, "/")), "/")
	if len(parts) < 2 || parts[0] != "api" {
		return "", errEndpoint
	}
	digits, versioned := strings.CutPrefix(parts[1], "v")
	version, err := strconv.Atoi(digits)
	if !versioned || err != nil {
		return parts[1], nil
	}
	if version > maxVersion {
		return "", apiError{
			http.StatusNotImplemented, "Requested API version is greater than the max implemented",
			fmt.Sprintf("API version [%d] is greater than the max [%d]", version, maxVersion),
		}
	}
	if len(parts) < 3 {
		return "", errEndpoint
	}
	return parts[2], nil
}

// method returns the method that a request means: clients that can only GET set another one by
// method_override.
func method(r *http.Request) string {
	if r.Method == http.MethodGet {
		if override := r.URL.Query().Get("method_override"); override != "" {
			return strings.ToUpper(override)
		}
	}
	return r.Method
}

// contentType is that of every answer under /api, of empty ones too.
const contentType = "application/json; charset=UTF-8"

// writeError answers with a TSD's error object.
func writeError(w http.ResponseWriter, err error) {
	var e apiError
	if !errors.As(err, &e) {
		e = apiError{status: http.StatusInternalServerError, message: err.Error()}
	}
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter())
	}
	content := map[string]any{"code": e.status, "message": e.message}
	if e.details != "" {
		content["details"] = e.details
	}
	writeJSON(w, e.status, map[string]any{"error": content})
}

// retryAfter returns how many seconds a client should wait when the store cannot take its points.
// It differs between clients, so that they do not all return at once.
func retryAfter() string { return strconv.Itoa(1 + rand.IntN(5)) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("opentsdb: encode answer: " + err.Error()) // of our own maps and strings
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	// a client that is gone loses the answer
	_, _ = w.Write(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// Package writelimits takes the requests of Prometheus' doors for writes: it bounds the bytes of their
// bodies and of what is made of these, how many are served at once, and how many large ones are
// decoded at once. It knows no format of data.
package writelimits

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// Options are the limits. Bytes are bytes in memory.
type Options struct {
	// Requests is --write.max-concurrency: requests at once.
	Requests int
	// InFlightBytes is --write.max-in-flight-bytes: of all requests at once.
	InFlightBytes int
	// Timeout is how long the store may take.
	Timeout time.Duration
}

// ErrBusy is the answer when a limit of the process is exceeded.
var ErrBusy = httpapi.WithStatus(http.StatusServiceUnavailable, errors.New("too many writes at once, try again later"))

// An Intake is shared by all doors. It is safe for concurrent use.
type Intake struct {
	o     Options
	gate  *netserver.Gate
	large *query.Turns // of large requests, to decode them
}

// New returns an Intake.
func New(o Options) *Intake {
	return &Intake{o: o, gate: netserver.NewGate(o.Requests, o.InFlightBytes), large: query.NewTurns(runtime.GOMAXPROCS(0) / 2)}
}

// Gate returns what bounds the requests and their bytes.
func (in *Intake) Gate() *netserver.Gate { return in.gate }

// MaxBytes returns how many bytes all requests may take together.
func (in *Intake) MaxBytes() int { return in.o.InFlightBytes }

// largeRequest is the decoded size, in bytes, from which a request waits for a turn to be decoded.
// Prometheus sends a tenth of that.
const largeRequest = 2 << 20

// Enter lets in a request whose body has come and has so many bytes when it is decoded. leave must be
// called at its end. A slow sender, before that, holds the memory of what has arrived and blocks no
// other one.
func (in *Intake) Enter(ctx context.Context, decoded int) (_ context.Context, leave func(), _ error) {
	if !in.gate.Enter() {
		return nil, nil, ErrBusy
	}
	ctx, cancel := netserver.WithTimeout(ctx, in.o.Timeout)
	if decoded <= largeRequest {
		return ctx, func() { cancel(); in.gate.Leave() }, nil
	}
	turn, err := in.large.Begin(ctx)
	if err != nil {
		cancel()
		in.gate.Leave()
		return nil, nil, ErrBusy
	}
	return query.WithTurn(ctx, turn), func() { turn.End(); cancel(); in.gate.Leave() }, nil
}

// A Share is the memory that one request holds. One goroutine at a time uses it.
type Share struct {
	netserver.Share

	in *Intake
}

// Share returns a share of a request, which may be used for other requests after Release.
func (in *Intake) Share() *Share { return &Share{Share: netserver.Share{Gate: in.gate}, in: in} }

// Need takes n bytes more, before they are allocated. A request that needs more than all may have
// together is refused for good, or its sender would send it for ever.
func (s *Share) Need(n int) error {
	if s.Take(n) {
		return nil
	}
	if most := s.in.o.InFlightBytes; s.Held()+n > most {
		return httpapi.WithStatus(http.StatusRequestEntityTooLarge, fmt.Errorf("the request takes more memory than all may take together, %d bytes (--write.max-in-flight-bytes)", most))
	}
	return ErrBusy
}

// maxRetryAfter is the longest pause that is asked for, in seconds: shorter than a sender can
// buffer, long enough to spread the senders.
const maxRetryAfter = 5

// SetRetryAfter asks a sender to send the request again after a while.
func SetRetryAfter(header http.Header) {
	header.Set("Retry-After", strconv.Itoa(int(RetryAfter().Seconds())))
}

// RetryAfter returns a pause of whole seconds, after which a sender may send a request again.
func RetryAfter() time.Duration { return time.Duration(1+rand.IntN(maxRetryAfter)) * time.Second }

package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxAhead is how many steps a connection may be ahead of the slowest. Real senders are at about
// the same time, and Prometheus refuses samples that are much older than its newest one.
const maxAhead = 40

// A Sender sends a corpus, each lane on a connection of its own, one request after the other.
type Sender struct {
	corpus *Corpus
	target Target
	next   []atomic.Int64 // for each lane, the first request without an acknowledgement
	acked  atomic.Int64   // samples
	busy   atomic.Int64   // answers that asked to try again
	lanes  []laneTimes
}

type laneTimes struct {
	mu   sync.Mutex // guards took
	took []time.Duration
}

// NewSender returns a sender that has sent nothing yet.
func NewSender(c *Corpus, to Target) *Sender {
	return &Sender{corpus: c, target: to, next: make([]atomic.Int64, len(c.Lanes)), lanes: make([]laneTimes, len(c.Lanes))}
}

// Run sends the requests without an acknowledgement until all have one, ctx ends or a request
// fails. A further call begins with the request that failed. With protocols that have no
// acknowledgements a request counts when it is written; Run returns when the server has read
// everything and has closed the connections.
func (s *Sender) Run(ctx context.Context) error {
	p := newPace(len(s.corpus.Lanes))
	group, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, p.release)
	for i := range s.corpus.Lanes {
		group.Go(func() error {
			defer p.leave(i)
			if err := s.lane(ctx, i, p); err != nil {
				return fmt.Errorf("%s, connection %d: %w", s.corpus.Format, i, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *Sender) lane(ctx context.Context, i int, p *pace) error {
	requests := s.corpus.Lanes[i]
	conn, err := s.target.dial(ctx, s.corpus.Format)
	if err != nil {
		return err
	}
	defer conn.close()
	for n := int(s.next[i].Load()); n < len(requests); n++ {
		r := requests[n]
		p.wait(i, r.Step)
		if err := ctx.Err(); err != nil {
			return err
		}
		begin := time.Now()
		if err := s.send(ctx, conn, r.Body); err != nil {
			return fmt.Errorf("request %d: %w", n, err)
		}
		s.lanes[i].add(time.Since(begin))
		s.next[i].Add(1)
		s.acked.Add(int64(r.Samples))
	}
	return conn.finish(ctx)
}

// send repeats a request while the server asks for that.
func (s *Sender) send(ctx context.Context, c connection, body []byte) error {
	const pause, waitTimeout = 50 * time.Millisecond, 2 * time.Minute
	for begin := time.Now(); ; {
		err := c.send(ctx, body)
		if !isBusy(err) || time.Since(begin) > waitTimeout {
			return err
		}
		s.busy.Add(1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Acked returns how many samples have been acknowledged.
func (s *Sender) Acked() int { return int(s.acked.Load()) }

// Busy returns how often a server asked to try again.
func (s *Sender) Busy() int { return int(s.busy.Load()) }

// Done returns how many requests of a lane have been acknowledged.
func (s *Sender) Done(lane int) int { return int(s.next[lane].Load()) }

// Latencies returns the times of all requests that were acknowledged.
func (s *Sender) Latencies() []time.Duration {
	var all []time.Duration
	for i := range s.lanes {
		s.lanes[i].mu.Lock()
		all = append(all, s.lanes[i].took...)
		s.lanes[i].mu.Unlock()
	}
	return all
}

func (l *laneTimes) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, d)
}

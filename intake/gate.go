package intake

import "sync/atomic"

// A Gate counts requests and the bytes that they hold, and lets none in above its limits. Those that do not get in come again later: it never
// makes one wait, since senders wait with less memory. It is safe for concurrent use.
type Gate struct {
	maxRequests, maxBytes int64
	requests, bytes       atomic.Int64
}

// NewGate returns a gate of so many requests at once with so many bytes together.
func NewGate(requests, bytes int) *Gate {
	return &Gate{maxRequests: int64(requests), maxBytes: int64(bytes)}
}

// Enter lets one request in, for which Leave must be called.
func (g *Gate) Enter() bool {
	if g.requests.Add(1) > g.maxRequests {
		g.requests.Add(-1)
		return false
	}
	return true
}

// Leave lets one request out.
func (g *Gate) Leave() { g.requests.Add(-1) }

// Requests are those that are in.
func (g *Gate) Requests() int64 { return g.requests.Load() }

// Bytes are those of all requests.
func (g *Gate) Bytes() int64 { return g.bytes.Load() }

// A Share is the bytes of one request.
type Share struct {
	Gate  *Gate
	bytes int64
}

// Take takes n bytes more; false when there are not so many left.
func (s *Share) Take(n int) bool {
	if s.Gate.bytes.Add(int64(n)) > s.Gate.maxBytes {
		s.Gate.bytes.Add(-int64(n))
		return false
	}
	s.bytes += int64(n)
	return true
}

// Release gives all of it back.
func (s *Share) Release() {
	if s.bytes > 0 {
		s.Gate.bytes.Add(-s.bytes)
		s.bytes = 0
	}
}

// Package carbonapi reads and writes the protobuf messages by which carbonapi and go-carbon ask for series: the
// format carbonapi_v3_pb of github.com/go-graphite/protocol. It knows nothing of HTTP or of a store.
package carbonapi

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Format is the name of the format in requests, and ContentType the type of the messages.
const (
	Format      = "carbonapi_v3_pb"
	ContentType = "application/x-carbonapi-v3-pb"
	// OlderType is the type of messages in carbonapi_v2_pb.
	OlderType = "application/x-carbonapi-v2-pb"
)

// mostRequests bounds the questions of a message.
const mostRequests = 10_000

// A Fetch asks for the series that a name matches between two times, in epoch seconds. Expression is what the answer
// is said to be for: the pattern of a target that Name is one of the series of.
type Fetch struct {
	Name, Expression string
	Start, Stop      int64
}

// A Series answers a Fetch. Times are epoch seconds; a value that is NaN is none.
type Series struct {
	Name, Expression, Consolidation string
	Start, Stop, Step               int64
	XFilesFactor                    float64
	Values                          []float64
	AskedStart, AskedStop           int64
}

// A Glob answers a pattern.
type Glob struct {
	Pattern string
	Matches []Match
}

// A Match is a path that a pattern matches.
type Match struct {
	Path string
	Leaf bool
}

// fields calls visit for each field of a message. A field that visit does not consume (0) is passed over.
func fields(message []byte, visit func(n protowire.Number, t protowire.Type, rest []byte) (int, error)) error {
	for len(message) > 0 {
		n, t, size := protowire.ConsumeTag(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		size, err := visit(n, t, message)
		if err != nil {
			return err
		}
		if size == 0 {
			size = protowire.ConsumeFieldValue(n, t, message)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
	}
	return nil
}

var errText = errors.New("a text is not UTF-8")

// text reads a text into to.
func text(to *string, rest []byte) (int, error) {
	b, n := protowire.ConsumeBytes(rest)
	if n > 0 && !utf8.Valid(b) {
		return 0, errText
	}
	*to = string(b)
	return n, nil
}

func integer(to *int64, rest []byte) (int, error) {
	v, n := protowire.ConsumeVarint(rest)
	*to = int64(v)
	return n, nil
}

// ParseFetches reads a MultiFetchRequest.
func ParseFetches(message []byte) (list []Fetch, err error) {
	err = fields(message, func(n protowire.Number, t protowire.Type, rest []byte) (int, error) {
		if n != 1 || t != protowire.BytesType {
			return 0, nil
		}
		one, size := protowire.ConsumeBytes(rest)
		if size < 0 {
			return size, nil
		}
		if len(list) >= mostRequests {
			return 0, fmt.Errorf("more than %d requests at once", mostRequests)
		}
		f, err := parseFetch(one)
		list = append(list, f)
		return size, err
	})
	return list, err
}

func parseFetch(message []byte) (f Fetch, err error) {
	err = fields(message, func(n protowire.Number, t protowire.Type, rest []byte) (int, error) {
		switch {
		case n == 1 && t == protowire.BytesType:
			return text(&f.Name, rest)
		case n == 2 && t == protowire.VarintType:
			return integer(&f.Start, rest)
		case n == 3 && t == protowire.VarintType:
			return integer(&f.Stop, rest)
		case n == 5 && t == protowire.BytesType:
			return text(&f.Expression, rest)
		}
		return 0, nil
	})
	return f, err
}

// ParseGlobs reads the patterns of a MultiGlobRequest, or the names of a MultiMetricsInfoRequest.
func ParseGlobs(message []byte) (patterns []string, err error) {
	err = fields(message, func(n protowire.Number, t protowire.Type, rest []byte) (int, error) {
		if n != 1 || t != protowire.BytesType {
			return 0, nil
		}
		if len(patterns) >= mostRequests {
			return 0, fmt.Errorf("more than %d patterns at once", mostRequests)
		}
		var p string
		size, err := text(&p, rest)
		patterns = append(patterns, p)
		return size, err
	})
	return patterns, err
}

func appendText(b []byte, n protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func appendInteger(b []byte, n protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
}

func appendBool(b []byte, n protowire.Number, v bool) []byte {
	if !v {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), 1)
}

// appendMessage appends a field that is a message; write appends its fields.
func appendMessage(b []byte, n protowire.Number, write func(b []byte) []byte) []byte {
	b = protowire.AppendTag(b, n, protowire.BytesType)
	start := len(b)
	b = write(b)
	size := len(b) - start
	var length [10]byte
	prefix := protowire.AppendVarint(length[:0], uint64(size))
	b = append(b, prefix...)
	copy(b[start+len(prefix):], b[start:start+size])
	copy(b[start:], prefix)
	return b
}

// An Info tells how a series is kept.
type Info struct {
	Name, Consolidation string
	XFilesFactor        float64
	MaxRetention        int64 // in seconds
	Retentions          []Retention
}

// A Retention is an archive of a series.
type Retention struct{ SecondsPerPoint, Points int64 }

// Append appends the info to a MultiMetricsInfoResponse.
func (i *Info) Append(b []byte) []byte { return appendMessage(b, 1, i.AppendFields) }

// AppendFields appends the info as an InfoResponse of the older format carbonapi_v2_pb.
func (i *Info) AppendFields(b []byte) []byte {
	b = appendText(appendText(b, 1, i.Name), 2, i.Consolidation)
	b = appendFactor(appendInteger(b, 3, i.MaxRetention), 4, i.XFilesFactor)
	for _, r := range i.Retentions {
		b = appendMessage(b, 5, func(b []byte) []byte { return appendInteger(appendInteger(b, 1, r.SecondsPerPoint), 2, r.Points) })
	}
	return b
}

func appendFactor(b []byte, n protowire.Number, v float64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32Type), math.Float32bits(float32(v)))
}

// Append appends the series to a MultiFetchResponse.
func (s *Series) Append(b []byte) []byte {
	return appendMessage(b, 1, func(b []byte) []byte {
		b = appendText(appendText(appendText(b, 1, s.Name), 2, s.Expression), 3, s.Consolidation)
		b = appendInteger(appendInteger(appendInteger(b, 4, s.Start), 5, s.Stop), 6, s.Step)
		b = appendFactor(b, 7, s.XFilesFactor)
		if len(s.Values) > 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, 9, protowire.BytesType), uint64(8*len(s.Values)))
			for _, v := range s.Values {
				b = protowire.AppendFixed64(b, math.Float64bits(v))
			}
		}
		return appendInteger(appendInteger(b, 11, s.AskedStart), 12, s.AskedStop)
	})
}

// Append appends the matches of a pattern to a MultiGlobResponse.
func (g *Glob) Append(b []byte) []byte {
	return appendMessage(b, 1, func(b []byte) []byte {
		b = appendText(b, 1, g.Pattern)
		for _, m := range g.Matches {
			b = appendMessage(b, 2, func(b []byte) []byte { return appendBool(appendText(b, 1, m.Path), 2, m.Leaf) })
		}
		return b
	})
}

// AppendCapabilities appends a CapabilityResponse of a server with a name.
func AppendCapabilities(b []byte, name string) []byte {
	return appendText(appendText(b, 1, Format), 2, name)
}

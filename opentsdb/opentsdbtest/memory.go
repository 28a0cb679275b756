// Package opentsdbtest has stores in memory, recorded requests to a real TSD and benchmarks for the tests of
// OpenTSDB's protocols. No shipped binary contains it.
package opentsdbtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Memory is a storage.Appender that keeps points in the order in which they came.
type Memory struct {
	Mu     sync.Mutex // guards all below
	refs   map[string]storage.Ref
	names  []string
	Points []string
	// What goes wrong, if not nil.
	Resolving func(name string) error
	appending func() error
	appends   int
}

// ErrAway is the error of a store that does not answer.
var ErrAway = errors.New("store is away")

// NewMemory returns an empty memory.
func NewMemory() *Memory { return &Memory{refs: map[string]storage.Ref{}} }

// SeriesName returns a series as memory writes it.
func SeriesName(s storage.Series) string {
	var b strings.Builder
	b.WriteString(s.Metric + "{")
	for i, tag := range s.Tags {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(tag.Key + "=" + tag.Value)
	}
	return b.String() + "}"
}

// Resolve implements storage.Appender.
func (m *Memory) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	refs, errs := make([]storage.Ref, len(series)), make([]error, len(series))
	for i, s := range series {
		n := SeriesName(s)
		if m.Resolving != nil {
			if errs[i] = m.Resolving(n); errs[i] != nil {
				continue
			}
		}
		if m.refs[n] == 0 {
			m.names = append(m.names, n)
			m.refs[n] = storage.Ref(len(m.names))
		}
		refs[i] = m.refs[n]
	}
	return refs, errs
}

// Append implements storage.Appender.
func (m *Memory) Append(_ context.Context, b *storage.Batch) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.appends++
	if m.appending != nil {
		if err := m.appending(); err != nil {
			return err
		}
	}
	for i, ref := range b.Refs {
		value := fmt.Sprintf("%v", b.Values[i])
		switch b.Forms[i] {
		case storage.FormInteger:
			value = fmt.Sprintf("%di", int64(math.Float64bits(b.Values[i])))
		case storage.FormDouble:
			value += "d"
		}
		m.Points = append(m.Points, fmt.Sprintf("%s %d %s", m.names[ref-1], b.Times[i], value))
	}
	return nil
}

// Stored returns the points since the last call.
func (m *Memory) Stored() []string {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	points := m.Points
	m.Points = nil
	return points
}

// Set sets what goes wrong from now on.
func (m *Memory) Set(resolving func(string) error, appending func() error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Resolving, m.appending = resolving, appending
}

// Discard is a storage.Appender that keeps nothing.
type Discard struct {
	mu   sync.Mutex // guards all below
	last storage.Ref
}

// Resolve implements storage.Appender.
func (d *Discard) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	refs := make([]storage.Ref, len(series))
	for i := range refs {
		d.last++
		refs[i] = d.last
	}
	return refs, nil
}

// Append implements storage.Appender.
func (d *Discard) Append(context.Context, *storage.Batch) error { return nil }

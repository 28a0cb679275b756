package opentsdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
)

// memory is a storage.Appender that keeps points in the order in which they came.
type memory struct {
	mu     sync.Mutex // guards all below
	refs   map[string]storage.Ref
	names  []string
	points []string
	// What goes wrong, if not nil.
	resolving func(name string) error
	appending func() error
	appends   int
}

// errAway is the error of a store that does not answer.
var errAway = errors.New("store is away")

// newMemory returns an empty memory.
func newMemory() *memory { return &memory{refs: map[string]storage.Ref{}} }

// seriesName returns a series as memory writes it.
func seriesName(s storage.Series) string {
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
func (m *memory) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	refs, errs := make([]storage.Ref, len(series)), make([]error, len(series))
	for i, s := range series {
		n := seriesName(s)
		if m.resolving != nil {
			if errs[i] = m.resolving(n); errs[i] != nil {
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
func (m *memory) Append(_ context.Context, b *storage.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
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
		m.points = append(m.points, fmt.Sprintf("%s %d %s", m.names[ref-1], b.Times[i], value))
	}
	return nil
}

// stored returns the points since the last call.
func (m *memory) stored() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	points := m.points
	m.points = nil
	return points
}

// set sets what goes wrong from now on.
func (m *memory) set(resolving func(string) error, appending func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resolving, m.appending = resolving, appending
}

// discard is a storage.Appender that keeps nothing.
type discard struct {
	mu   sync.Mutex // guards all below
	last storage.Ref
}

// Resolve implements storage.Appender.
func (d *discard) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
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
func (d *discard) Append(context.Context, *storage.Batch) error { return nil }


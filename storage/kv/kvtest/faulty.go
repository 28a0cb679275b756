package kvtest

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Method names a method of kv.KV or kv.Versioned.
type Method string

// The methods.
const (
	Get         Method = "Get"
	Scan        Method = "Scan"
	Apply       Method = "Apply"
	Increment   Method = "Increment"
	CheckAndPut Method = "CheckAndPut"
	History     Method = "History"
	Unchanged   Method = "ApplyUnchanged"
)

// When is the point at which a failing call fails.
type When string

const (
	// The call fails before it takes effect.
	Before When = "before"
	// The first half of the rows of an Apply or ApplyUnchanged is applied; a Scan ends after its
	// first row. Other calls fail as with After.
	Midway When = "midway"
	// The call takes effect and only its answer is lost. A Scan returns all its rows first.
	After When = "after"
)

// ErrFault is the error of failing calls.
var ErrFault = errors.New("fault on purpose")

// Faulty is an engine whose calls fail on demand. It is safe for concurrent use.
type Faulty struct {
	inner  kv.KV
	mu     sync.Mutex // guards the two below
	calls  map[Method]int
	faults map[Method]map[int]When
}

// New wraps an engine. Nothing fails yet.
func New(inner kv.KV) *Faulty {
	return &Faulty{inner: inner, calls: make(map[Method]int), faults: make(map[Method]map[int]When)}
}

// FaultyVersioned is Faulty for an engine that several processes write to.
type FaultyVersioned struct {
	*Faulty
	versioned kv.Versioned
}

var _ kv.Versioned = (*FaultyVersioned)(nil)

// NewVersioned wraps an engine that several processes write to. Nothing fails yet.
func NewVersioned(inner kv.Versioned) *FaultyVersioned {
	return &FaultyVersioned{Faulty: New(inner), versioned: inner}
}

// Split implements kv.Versioned. It never fails on demand.
func (f *FaultyVersioned) Split(ctx context.Context, s kv.Scan, n int) ([]kv.Scan, error) {
	return f.versioned.Split(ctx, s, n)
}

// GetStored implements kv.Versioned. It is a Get.
func (f *FaultyVersioned) GetStored(
	ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []kv.StoredCell) error,
) error {
	return kv.CellViewer{KV: f}.GetStored(ctx, table, family, keys, near, visit)
}

// ScanStored implements kv.Versioned. It is a Scan.
func (f *FaultyVersioned) ScanStored(ctx context.Context, s kv.Scan, visit func(key []byte, cells []kv.StoredCell) error) error {
	return kv.CellViewer{KV: f}.ScanStored(ctx, s, visit)
}

// History implements kv.Versioned.
func (f *FaultyVersioned) History(ctx context.Context, table, family string, keys [][]byte) ([]kv.History, error) {
	return call(f.next(History), func() ([]kv.History, error) { return f.versioned.History(ctx, table, family, keys) })
}

// Supported implements kv.Versioned. It never fails on demand.
func (f *FaultyVersioned) Supported(ctx context.Context, table, family string) error {
	return f.versioned.Supported(ctx, table, family)
}

// ApplyUnchanged implements kv.Versioned.
func (f *FaultyVersioned) ApplyUnchanged(ctx context.Context, table, family string, rows []kv.Conditional) ([]bool, error) {
	when := f.next(Unchanged)
	if when == Midway {
		rows = rows[:len(rows)/2]
	}
	return call(when, func() ([]bool, error) { return f.versioned.ApplyUnchanged(ctx, table, family, rows) })
}

// Costs implements kv.Coster: those of the engine, if it has any.
func (f *Faulty) Costs() kv.Costs {
	if c, ok := f.inner.(kv.Coster); ok {
		return c.Costs()
	}
	return kv.Costs{}
}

// Fail makes the nth call of a method from now on fail; the next call is the first.
func (f *Faulty) Fail(m Method, nth int, when When) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.faults[m] == nil {
		f.faults[m] = make(map[int]When)
	}
	f.faults[m][f.calls[m]+nth] = when
}

// Calls returns how often a method was called, failed calls included. A scan counts when its loop
// begins.
func (f *Faulty) Calls(m Method) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[m]
}

// next counts a call and returns how it fails, or nothing.
func (f *Faulty) next(m Method) When {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[m]++
	return f.faults[m][f.calls[m]]
}

// call makes a call that cannot fail midway.
func call[T any](when When, do func() (T, error)) (T, error) {
	var none T
	if when == Before {
		return none, ErrFault
	}
	answer, err := do()
	if err == nil && when != "" {
		return none, ErrFault
	}
	return answer, err
}

// Get implements kv.KV.
func (f *Faulty) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	return call(f.next(Get), func() ([]kv.Row, error) { return f.inner.Get(ctx, table, family, keys) })
}

// Scan implements kv.KV.
func (f *Faulty) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		when := f.next(Scan)
		if when == Before {
			yield(kv.Row{}, ErrFault)
			return
		}
		for row, err := range f.inner.Scan(ctx, s) {
			if !yield(row, err) || err != nil {
				return
			}
			if when == Midway {
				break
			}
		}
		if when != "" {
			yield(kv.Row{}, ErrFault)
		}
	}
}

// Apply implements kv.KV.
func (f *Faulty) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	when := f.next(Apply)
	if when == Midway {
		rows = rows[:len(rows)/2]
	}
	_, err := call(when, func() (struct{}, error) { return struct{}{}, f.inner.Apply(ctx, table, family, rows) })
	return err
}

// Increment implements kv.KV.
func (f *Faulty) Increment(ctx context.Context, c kv.Column, delta int64) (int64, error) {
	return call(f.next(Increment), func() (int64, error) { return f.inner.Increment(ctx, c, delta) })
}

// CheckAndPut implements kv.KV.
func (f *Faulty) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	return call(f.next(CheckAndPut), func() (bool, error) { return f.inner.CheckAndPut(ctx, c, expected, value) })
}

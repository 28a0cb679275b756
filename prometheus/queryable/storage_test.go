package queryable

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// newMemStorage returns a whole read side over a store in memory.
func newMemStorage(t testing.TB) *promStorage {
	return newPromStorage(promtest.OpenStore(t, kv.NewMem(promtest.Tables()...)))
}

// readStore is both ends of a store.
type readStore interface {
	storage.Appender
	storage.Querier
}

// testNames are names for both directions.
type testNames interface {
	Names
	promtest.LabelNames
}

// promStorage lets the test suites of the Prometheus module write to a store of ours and read it
// back.
type promStorage struct {
	*Store
	promtest.Writer
	stored readStore
}

func newPromStorage(s readStore) *promStorage {
	names, err := translate.New()
	if err != nil {
		panic(err) // There is no rule that could be wrong.
	}
	return newPromStorageOf(s, names, Limits{})
}

func newPromStorageOf(s readStore, names testNames, limits Limits) *promStorage {
	return &promStorage{New(s, names, limits), promtest.Writer{Names: names, To: s}, s}
}

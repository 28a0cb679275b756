// Package graphitetest holds stores under trees, with points of Graphite names, for the tests of
// Graphite's rooms. No shipped binary contains it.
package graphitetest

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Now is the time that recorded requests without now were made at, near enough.
const Now = 1741057200

// A Store is a store, its tables and its trees.
type Store struct {
	*store.Store

	DB    kv.KV
	Trees *forest.Forest
	Names *translate.Translator
}

// archiveTable is the table of coarse archives.
const archiveTable = "tsdb-archive"

// Tables returns empty tables.
func Tables() *kv.Mem { return kv.NewMem(Families()...) }

// Families are the tables of a store.
func Families() (tables []kv.Table) {
	for _, name := range []string{"tsdb", "tsdb-uid", "tsdb-meta", "tsdb-tree", archiveTable} {
		tables = append(tables, kv.Table{Name: name, Families: []string{schema.FamilyData, "id", "name"}})
	}
	return tables
}

// New returns an empty store in memory, whose tables have no other writer.
func New(t testing.TB) *Store {
	t.Helper()
	return open(t, Tables(), true)
}

// Shared returns a store over tables that other processes write to as well.
func Shared(t testing.TB, db kv.KV) *Store {
	t.Helper()
	return open(t, db, false)
}

func open(t testing.TB, db kv.KV, exclusive bool) *Store {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	treeOptions := forest.DefaultOptions()
	treeOptions.Exclusive, treeOptions.DefaultTree = exclusive, "graphite"
	treeOptions.Plain, treeOptions.Shown = names.Plain, translate.Shown
	forest := forest.New(db, treeOptions)
	if _, err := forest.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := store.DefaultOptions()
	o.Exclusive, o.Observer, o.ArchiveTable = exclusive, forest, archiveTable
	store, err := store.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, store)
	return &Store{Store: store, DB: db, Trees: forest, Names: names}
}

// run runs the store until the end of the test, and returns when it is ready.
func run(t testing.TB, store *store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for store.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the store does not get ready")
		}
	}
}

// Add stores points of Graphite names.
func (s *Store) Add(t testing.TB, lines io.Reader) {
	t.Helper()
	refs := map[string]storage.Ref{}
	var series []storage.Series
	var batch storage.Batch
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		f := strings.Fields(scan.Text())
		value, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		at, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if refs[f[0]] == 0 {
			series = append(series, s.Names.FromPath(f[0]))
			refs[f[0]] = storage.Ref(len(series))
		}
		batch.Add(refs[f[0]], at*1000, value)
	}
	resolved := s.Register(t, series)
	for i, r := range batch.Refs {
		batch.Refs[i] = resolved[r-1]
	}
	if err := s.Append(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
}

// AddLabels makes series known.
func (s *Store) AddLabels(t testing.TB, sets ...labels.Labels) []storage.Ref {
	t.Helper()
	var series []storage.Series
	for _, ls := range sets {
		series = append(series, s.Names.FromLabels(ls))
	}
	return s.Register(t, series)
}

// Register makes series known.
func (s *Store) Register(t testing.TB, series []storage.Series) []storage.Ref {
	t.Helper()
	refs, errs := s.Resolve(t.Context(), series)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return refs
}

// Points stores points of a Graphite name, whose values count from 0.
func (s *Store) Points(t testing.TB, name string, times []int64) storage.Ref {
	t.Helper()
	ref := s.Register(t, []storage.Series{s.Names.FromPath(name)})[0]
	var b storage.Batch
	for i, at := range times {
		b.Add(ref, at, float64(i))
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return ref
}

// Open opens a file, unpacked.
func Open(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// CarbonFiles reads the rules in a folder.
func CarbonFiles(t testing.TB, folder string) (*conf.Schemas, *conf.Aggregations) {
	t.Helper()
	read := func(file string) (string, string) {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		return file, string(text)
	}
	schemas, err := conf.ParseSchemas(read("storage-schemas.conf"))
	if err != nil {
		t.Fatal(err)
	}
	aggregations, err := conf.ParseAggregations(read("storage-aggregation.conf"))
	if err != nil {
		t.Fatal(err)
	}
	return schemas, aggregations
}

package adapter

import (
	"context"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/graphite"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/extract"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// opened are the tables of a process, with the parts that commands and the admin API work with.
type opened struct {
	o        Options
	db       kv.KV
	engine   io.Closer // of db
	store    *store.Store
	trees    *forest.Service
	names    *translate.Translator
	budget   *query.Budget // of all queries
	registry *prometheus.Registry
	graphite *graphite.Server // nil before it was made
}

// Importer returns what stores OpenTSDB's import text.
func (t *opened) Importer() *tsdtext.Importer {
	o := tsdtext.ImportOptions{
		Appender: t.store, Names: t.store.Names(), AutoCreate: t.o.OpenTSDB.AutoCreate, SeriesCache: t.o.SeriesCache,
		Histograms: t.store, HistogramCodecs: t.o.OpenTSDB.HistogramCodecs, Annotations: t.store.Annotations(), TSUIDOf: t.store.Catalog().TSUIDOf,
		SpecialChars: t.o.OpenTSDB.SpecialChars, RollupTag: t.o.OpenTSDB.Rollup.TagKey,
	}
	if rollups := t.store.Rollups(); rollups != nil {
		o.Rollups = rollups
	}
	return tsdtext.NewImporter(o)
}

// Appendable returns what stores batches of labelled samples.
func (t *opened) Appendable() *appendable.Appendable {
	w := &t.o.Prometheus.Write
	return appendable.New(appendable.Options{
		SeriesBytes: w.SeriesBytes, SeriesCache: t.o.SeriesCache, Future: w.Future, Appender: t.store, Metadata: t.store.Documents(),
		Names: t.names, Now: t.o.Now,
	})
}

// hours tells when metrics of a store have points.
type hours struct{ *store.Store }

// NextHour implements extract.Hours.
func (h hours) NextHour(ctx context.Context, metric string, from int64) (int64, bool, error) {
	return h.Catalog().NextHour(ctx, metric, from)
}

// Samples returns what reads labelled samples.
func (t *opened) Samples() admin.Samples {
	shown := queryable.New(t.store, t.names, queryable.Limits{})
	return admin.NewSamples(extract.Reader{Store: shown, Hours: hours{t.store}, Documents: t.store.Documents()}, t.budget)
}

// WhisperFiles is an admin.FilesSource of the tables.
func (t *opened) WhisperFiles(ctx context.Context, q graphitefiles.ExportQuery, use func(*graphitefiles.Exported) error) error {
	account := t.budget.Open()
	defer account.Close()
	return t.fileExporter().Export(query.WithAccount(ctx, account), q, use)
}

// ExportOptions returns what an Exporter of the adapter's tables needs.
func (t *opened) ExportOptions() tsdtext.ExportOptions {
	o := tsdtext.ExportOptions{
		Store: t.store, Catalog: t.store.Catalog(), Names: t.store.Names(), Annotations: t.store.Annotations(), RollupTag: t.o.OpenTSDB.Rollup.TagKey,
		Shared: t.o.Engine == tables.EngineHBase, SpecialChars: t.o.OpenTSDB.SpecialChars, Budget: t.budget,
	}
	if rollups := t.store.Rollups(); rollups != nil {
		o.Rollups = rollups
	}
	return o
}

// LocalCopy returns the adapter's store.
func (t *opened) LocalCopy() *admin.LocalCopy {
	s := tablecopy.Store{Store: t.store, Trees: t.trees.Editor(), Budget: t.budget, Shared: t.o.Engine == tables.EngineHBase}
	return admin.NewLocalCopy(s, t.o.Now)
}

// UIDs returns what the commands about UIDs are about.
func (t *opened) UIDs() admin.UIDTables {
	return admin.UIDTables{Store: t.store, Trees: t.trees, DB: t.db, TreeTable: t.o.TableTree, Layout: t.o.Layout()}
}

// adminAPI returns what the adapter does for commands elsewhere.
func (a *Adapter) adminAPI(syncTrees func(*http.Request) (any, error)) *admin.API {
	files := admin.StoreFiles{Logger: a.o.Logger, Store: a.store, Engine: a.db, Tables: a.o.Tables(), Backups: a.o.Backups(), Want: a.o.WantEmbedded}
	return admin.NewAPI(a.o.Logger, a.transfers, files.Exclusive().With(trees.SyncPath, syncTrees),
		admin.NewChecks(a.o.Logger, a.store, func() fsck.Source { return a.Checker(false) }),
		admin.NewUIDs(a.o.Logger, a.UIDs()),
		admin.NewBackfills(a.o.Logger, a.Ready, func() admin.Ruler { return a.live.Load() }),
		admin.NewImports(a.o.Logger, a.Importer(), a.FileImporter(), a.Appendable()),
		admin.NewExports(a.o.Logger, a.ExportOptions(), a.Samples(), a.WhisperFiles),
		admin.NewCopies(a.o.Logger, a.LocalCopy()),
	)
}

// OpenTSDB returns what answers OpenTSDB's HTTP API.
func (a *Adapter) OpenTSDB() http.Handler {
	r := chi.NewRouter()
	a.opentsdb.WebRoutes(r)
	return r
}

// FileImporter returns what stores parts of files of Graphite's databases.
func (t *opened) FileImporter() *graphitefiles.Importer {
	p := graphitefiles.ImporterParts{Documents: t.store.Documents(), Sources: t.graphite.Sources, Prepared: t.trees.Prepared()}
	p.Store, p.Names = t.graphite.Carbon()
	if archives := t.store.Archives(); archives != nil {
		p.Archives = archives
	}
	return graphitefiles.NewImporter(p)
}

// fileExporter returns what makes whisper files of series.
func (t *opened) fileExporter() *graphitefiles.Exporter {
	return &graphitefiles.Exporter{Sources: t.graphite.Sources, Prepared: t.trees.Prepared(), Now: t.o.Now}
}

// Store returns the store.
func (t *opened) Store() *store.Store { return t.store }

// Tables returns the tables of the store.
func (t *opened) Tables() kv.KV { return t.db }

// Trees returns the trees.
func (t *opened) Trees() *forest.Service { return t.trees }

// Names returns the translator of names.
func (t *opened) Names() *translate.Translator { return t.names }

// Options returns the options that New was given.
func (t *opened) Options() Options { return t.o }

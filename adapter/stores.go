package adapter

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/graphite/files"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/extract"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Importer returns what stores OpenTSDB's import text.
func (a *Adapter) Importer() *tsdtext.Importer {
	o := tsdtext.ImportOptions{
		Appender: a.store, Names: a.store.Names(), AutoCreate: a.o.OpenTSDB.AutoCreate, SeriesCache: a.o.SeriesCache,
		Histograms: a.store, HistogramCodecs: a.o.OpenTSDB.HistogramCodecs, Annotations: a.store.Annotations(), TSUIDOf: a.store.Catalog().TSUIDOf,
		SpecialChars: a.o.OpenTSDB.SpecialChars, RollupTag: a.o.OpenTSDB.Rollup.TagKey,
	}
	if rollups := a.store.Rollups(); rollups != nil {
		o.Rollups = rollups
	}
	return tsdtext.NewImporter(o)
}

// Appendable returns what stores batches of labelled samples.
func (a *Adapter) Appendable() *appendable.Appendable {
	w := &a.o.Prometheus.Write
	return appendable.New(appendable.Options{
		SeriesBytes: w.SeriesBytes, SeriesCache: a.o.SeriesCache, Future: w.Future, Appender: a.store, Metadata: a.store.Documents(),
		Names: a.names, Now: a.o.Now,
	})
}

// hours tells when metrics of a store have points.
type hours struct{ *store.Store }

// NextHour implements extract.Hours.
func (h hours) NextHour(ctx context.Context, metric string, from int64) (int64, bool, error) {
	return h.Catalog().NextHour(ctx, metric, from)
}

// Samples returns what reads labelled samples.
func (a *Adapter) Samples() admin.Samples {
	shown := queryable.New(a.store, a.names, queryable.Limits{})
	return admin.NewSamples(extract.Reader{Store: shown, Hours: hours{a.store}, Documents: a.store.Documents()}, a.budget)
}

// WhisperFiles is an admin.FilesSource of the tables.
func (a *Adapter) WhisperFiles(ctx context.Context, q files.ExportQuery, use func(*files.Exported) error) error {
	account := a.budget.Open()
	defer account.Close()
	return a.graphite.Exporter().Export(query.WithAccount(ctx, account), q, use)
}

// ExportOptions returns what an Exporter of the adapter's tables needs.
func (a *Adapter) ExportOptions() tsdtext.ExportOptions {
	o := tsdtext.ExportOptions{
		Store: a.store, Catalog: a.store.Catalog(), Names: a.store.Names(), Annotations: a.store.Annotations(), RollupTag: a.o.OpenTSDB.Rollup.TagKey,
		Shared: a.o.Engine == EngineHBase, SpecialChars: a.o.OpenTSDB.SpecialChars, Budget: a.budget,
	}
	if rollups := a.store.Rollups(); rollups != nil {
		o.Rollups = rollups
	}
	return o
}

// LocalCopy returns the adapter's store.
func (a *Adapter) LocalCopy() *admin.LocalCopy {
	s := tablecopy.Store{Store: a.store, Trees: a.trees.Editor(), Budget: a.budget, Shared: a.o.Engine == EngineHBase}
	return admin.NewLocalCopy(s, a.o.Now)
}

// UIDs returns what the commands about UIDs are about.
func (a *Adapter) UIDs() admin.UIDTables {
	return admin.UIDTables{Store: a.store, Trees: a.trees, DB: a.db, TreeTable: a.o.TableTree, Layout: a.o.Layout()}
}

// adminAPI returns what the adapter does for commands elsewhere.
func (a *Adapter) adminAPI(syncTrees func(*http.Request) (any, error)) *admin.API {
	files := admin.StoreFiles{Logger: a.o.Logger, Store: a.store, Engine: a.db, Tables: a.o.Tables(), Backups: a.o.Backups(), Want: a.o.WantEmbedded}
	return admin.NewAPI(a.o.Logger, a.transfers, files.Exclusive().With(trees.SyncPath, syncTrees),
		admin.NewChecks(a.o.Logger, a.store, func() fsck.Source { return a.Checker(false) }),
		admin.NewUIDs(a.o.Logger, a.UIDs()),
		admin.NewBackfills(a.o.Logger, a.Ready, func() admin.Ruler { return a.live.Load() }),
		admin.NewImports(a.o.Logger, a.Importer(), a.graphite.Importer(), a.Appendable()),
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
func (a *Adapter) FileImporter() *files.Importer { return a.graphite.Importer() }

// Store returns the store.
func (a *Adapter) Store() *store.Store { return a.store }

// Tables returns the tables of the store.
func (a *Adapter) Tables() kv.KV { return a.db }

// Trees returns the trees.
func (a *Adapter) Trees() *forest.Service { return a.trees }

// Names returns the translator of names.
func (a *Adapter) Names() *translate.Translator { return a.names }

// Options returns the options that New was given.
func (a *Adapter) Options() Options { return a.o }

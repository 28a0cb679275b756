package session

import (
	"context"
	"net/http"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/opentsdb/client"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

// remote are the tables of a running adapter.
type remote struct{ base, name string }

func (r remote) Name() string                         { return r.name }
func (r remote) AdapterURL() string                   { return r.base }
func (r remote) Reporter(kind string) *admin.Reporter { return admin.NewReporter(r.base, kind) }
func (r remote) Text() pipeline.Store                 { return admin.RemoteImport{Base: r.base}.Text }

func (r remote) Columns() func(context.Context, *columns.Batch) error {
	return admin.RemoteImport{Base: r.base}.Samples
}

func (r remote) Parts() func(context.Context, *graphitefiles.Part) error {
	return admin.RemoteImport{Base: r.base}.Part
}

func (r remote) Samples() admin.Samples          { return admin.RemoteSamples{Base: r.base} }
func (r remote) WhisperFiles() admin.FilesSource { return admin.RemoteFiles(r.base) }
func (r remote) Copy() Copy                      { return admin.RemoteCopy{Base: r.base} }

func (r remote) Export(q tsdtext.ExportQuery) (Export, error) {
	return admin.RemoteExport{Base: r.base, Query: q}, nil
}

func (r remote) UIDs(ctx context.Context, u admin.UIDRequest, printLine func(string) error) (int, error) {
	return admin.RemoteUIDs{Base: r.base}.Run(ctx, u, printLine)
}

func (r remote) OpenTSDB() client.Client { return client.Client{URL: r.base, HTTP: http.DefaultClient} }

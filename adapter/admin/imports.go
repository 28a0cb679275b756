package admin

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// importPath takes blocks of OpenTSDB's import text.
const importPath = prom.APIPrefix + "/admin/import/opentsdb"

// RemoteImport stores blocks by way of a running adapter.
type RemoteImport struct{ Base string }

// Text implements pipeline.Store.
func (r RemoteImport) Text(ctx context.Context, block []byte, skip bool) (pipeline.Stored, error) {
	path := importPath
	if skip {
		path += "?skip=true"
	}
	req, err := Request(ctx, http.MethodPost, r.Base, path, bytes.NewReader(block))
	if err != nil {
		return pipeline.Stored{}, err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	var stored pipeline.Stored
	err = answerOf(req, &stored)
	return stored, finalRefusal(err)
}

// Imports take what imports elsewhere send.
type Imports struct {
	failer
	Text    *tsdtext.Importer
	Parts   *graphitefiles.Importer
	Columns *appendable.Appendable
}

// NewImports returns those into a store.
func NewImports(logger *slog.Logger, text *tsdtext.Importer, parts *graphitefiles.Importer, columns *appendable.Appendable) *Imports {
	return &Imports{failer{logger}, text, parts, columns}
}

// Handlers implements Operations.
func (i *Imports) Handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{importPath: i.importBlock, importPartPath: i.importPart, importColumnsPath: i.importColumns}
}

// importBlock answers a block of import text when its points are durable.
func (i *Imports) importBlock(w http.ResponseWriter, r *http.Request) {
	block, err := io.ReadAll(r.Body)
	if err != nil {
		i.fail(w, r, err)
		return
	}
	stored, err := i.Text.Store(r.Context(), block, r.URL.Query().Get("skip") == "true")
	countTransfer(r.Context(), int64(stored.Points), int64(stored.Bad))
	switch {
	case err == nil:
		httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: stored})
	case storage.IsRefusal(err):
		httpapi.BadRequest(w, err)
	default:
		i.fail(w, r, err)
	}
}

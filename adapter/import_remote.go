package adapter

import (
	"bytes"
	"context"
	"io"
	"net/http"

	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/transfer"
)

// importPath takes blocks of OpenTSDB's import text.
const importPath = prom.APIPrefix + "/admin/import/opentsdb"

// remoteImport stores blocks by way of a running adapter.
type remoteImport struct{ base string }

// store implements transfer.Store.
func (r remoteImport) store(ctx context.Context, block []byte, skip bool) (transfer.Stored, error) {
	path := importPath
	if skip {
		path += "?skip=true"
	}
	req, err := adapterRequest(ctx, http.MethodPost, r.base, path, bytes.NewReader(block))
	if err != nil {
		return transfer.Stored{}, err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	var stored transfer.Stored
	err = answerOf(req, &stored)
	return stored, finalRefusal(err)
}

// importBlock answers a block of import text when its points are durable.
func (a *adminAPI) importBlock(w http.ResponseWriter, r *http.Request) {
	block, err := io.ReadAll(r.Body)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	stored, err := a.importer.Store(r.Context(), block, r.URL.Query().Get("skip") == "true")
	countTransfer(r.Context(), int64(stored.Points), int64(stored.Bad))
	switch {
	case err == nil:
		reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: stored})
	case storage.IsRefusal(err):
		reply.BadRequest(w, err)
	default:
		a.fail(w, r, err)
	}
}

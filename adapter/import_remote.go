package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(r.base, "/")+path, bytes.NewReader(block))
	if err != nil {
		return transfer.Stored{}, transfer.FinalError{Err: fmt.Errorf("--adapter-url: %w", err)}
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	var stored transfer.Stored
	err = answerOf(req, &stored)
	if refusal, ok := errors.AsType[*refusedError](err); ok && refusal.status != http.StatusServiceUnavailable && refusal.status != http.StatusTooManyRequests {
		return stored, transfer.FinalError{Err: err}
	}
	return stored, err
}

// importBlock answers a block of import text when its points are durable.
func (a *adminAPI) importBlock(w http.ResponseWriter, r *http.Request) {
	block, err := io.ReadAll(r.Body)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	stored, err := a.importer.Store(r.Context(), block, r.URL.Query().Get("skip") == "true")
	switch {
	case err == nil:
		reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: stored})
	case storage.IsRefusal(err):
		reply.JSON(w, http.StatusBadRequest, reply.Frame{Status: "error", ErrorType: "bad_data", Error: err.Error()})
	default:
		a.fail(w, r, err)
	}
}

package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// importColumnsPath takes batches of labelled samples.
const importColumnsPath = prom.APIPrefix + "/admin/import/prometheus"

// importedColumns is the answer to a batch.
type importedColumns struct {
	Samples int                      `json:"samples"` // that are durable
	Refused *appendable.RefusedError `json:"refused,omitempty"`
}

// Samples stores a batch by way of a running adapter.
func (r RemoteImport) Samples(ctx context.Context, b *columns.Batch) error {
	req, err := Request(ctx, http.MethodPost, r.Base, importColumnsPath, bytes.NewReader(b.AppendTo(nil)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	var stored importedColumns
	if err := answerOf(req, &stored); err != nil {
		return finalRefusal(err)
	}
	if stored.Refused != nil {
		return stored.Refused
	}
	return nil
}

// importColumns answers a batch when it is durable.
func (i *Imports) importColumns(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		i.fail(w, r, err)
		return
	}
	batch, err := columns.Parse(body)
	if err == nil {
		err = appendable.Check(batch)
	}
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	stored := importedColumns{Samples: batch.Samples()}
	err = i.Columns.Store(r.Context(), batch)
	if refused, ok := errors.AsType[*appendable.RefusedError](err); ok {
		stored.Refused, err = refused, nil
		stored.Samples -= refused.Samples
	}
	if err != nil {
		i.fail(w, r, err)
		return
	}
	refused := int64(0)
	if stored.Refused != nil {
		refused = int64(stored.Refused.Series)
	}
	countTransfer(r.Context(), int64(stored.Samples), refused)
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: stored})
}

package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// importPartPath takes parts of files of Graphite's databases.
const importPartPath = prom.APIPrefix + "/admin/import/graphite"

// Part stores a part of a file by way of a running adapter.
func (r RemoteImport) Part(ctx context.Context, p *graphitefiles.Part) error {
	body, err := p.AppendTo(nil)
	if err != nil {
		return err
	}
	req, err := Request(ctx, http.MethodPost, r.Base, importPartPath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	var stored importedPart
	if err := answerOf(req, &stored); err != nil {
		return finalRefusal(err)
	}
	if stored.Refused != "" {
		return fmt.Errorf("%w: %s", storage.ErrInvalid, stored.Refused)
	}
	return nil
}

// importedPart is the answer to a part.
type importedPart struct {
	Points  int    `json:"points"`
	Refused string `json:"refused,omitempty"` // why the series of the part is not taken
}

// importPart answers a part of a file when its points are durable.
func (i *Imports) importPart(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		i.fail(w, r, err)
		return
	}
	part, err := graphitefiles.ParsePart(body)
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	stored := importedPart{Points: part.Points()}
	if err := i.Parts.Store(r.Context(), part); storage.IsRefusal(err) {
		stored = importedPart{Refused: err.Error()}
		countTransfer(r.Context(), 0, 1)
	} else if err != nil {
		i.fail(w, r, err)
		return
	}
	countTransfer(r.Context(), int64(stored.Points), 0)
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: stored})
}

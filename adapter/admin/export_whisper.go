package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/whisper"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// exportWhisperPath answers with whisper files.
const exportWhisperPath = prom.APIPrefix + "/admin/export/whisper"

// A FilesSource calls use with each file of an export.
type FilesSource func(ctx context.Context, q graphitefiles.ExportQuery, use func(*graphitefiles.Exported) error) error

// A fileFrame is a line of JSON, which is followed by Bytes of a file. The last one of an answer has Done or
// Error; without it the answer is not complete.
type fileFrame struct {
	At     pipeline.FilePlace `json:"at"`
	Nth    int                `json:"nth,omitempty"`
	Of     int                `json:"of,omitempty"`
	Parts  int                `json:"parts,omitempty"`
	Path   string             `json:"path,omitempty"`
	Bytes  int                `json:"bytes"`
	Points int64              `json:"points,omitempty"`
	Reason string             `json:"reason,omitempty"`
	Done   bool               `json:"done,omitempty"`
	Error  string             `json:"error,omitempty"`
}

// RemoteFiles are the files of a running adapter.
func RemoteFiles(base string) FilesSource {
	return func(ctx context.Context, q graphitefiles.ExportQuery, use func(*graphitefiles.Exported) error) error {
		req, err := jsonRequest(ctx, base, exportWhisperPath, q)
		if err != nil {
			return err
		}
		resp, err := openAnswer(req)
		if err != nil {
			return finalRefusal(err)
		}
		defer resp.Body.Close()
		if err := readFiles(bufio.NewReaderSize(resp.Body, maxFrameLine), use); err != nil {
			return fmt.Errorf("the answer of %s: %w", req.URL.Redacted(), err)
		}
		return nil
	}
}

// readFiles reads the files of an answer.
func readFiles(from *bufio.Reader, use func(*graphitefiles.Exported) error) error {
	for {
		var f fileFrame
		if err := readHead(from, &f); err != nil {
			return err
		}
		switch {
		case f.Error != "":
			return errors.New(f.Error)
		case f.Done:
			return nil
		case f.Bytes < 0 || f.Bytes > whisper.MaxBytes || f.Reason == "" && !filepath.IsLocal(filepath.FromSlash(f.Path)):
			return fmt.Errorf("a file %q of %d bytes", f.Path, f.Bytes)
		}
		file := &graphitefiles.Exported{At: f.At, Nth: f.Nth, Of: f.Of, Parts: f.Parts, Path: f.Path, Points: f.Points, Reason: f.Reason, Data: make([]byte, f.Bytes)}
		if err := readData(from, file.Data); err != nil {
			return err
		}
		if err := use(file); err != nil {
			return err
		}
	}
}

// exportWhisper answers with the files of a query, as they are made.
func (e *Exports) exportWhisper(w http.ResponseWriter, r *http.Request) {
	var q graphitefiles.ExportQuery
	err := json.NewDecoder(r.Body).Decode(&q)
	if err == nil {
		err = q.Validate()
	}
	if err != nil {
		httpapi.BadRequest(w, fmt.Errorf("%w: %w", storage.ErrInvalid, err))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	send := func(f fileFrame, data []byte) error {
		f.Bytes = len(data)
		return writeFrame(w, f, data)
	}
	err = e.Files(r.Context(), q, func(f *graphitefiles.Exported) error {
		countTransfer(r.Context(), f.Points, 0)
		return send(fileFrame{At: f.At, Nth: f.Nth, Of: f.Of, Parts: f.Parts, Path: f.Path, Points: f.Points, Reason: f.Reason}, f.Data)
	})
	last := fileFrame{Done: true}
	if err != nil {
		last = fileFrame{Error: err.Error()}
		failTransfer(r.Context())
		e.warn(r, err)
	}
	_ = send(last, nil) // the client misses it
}

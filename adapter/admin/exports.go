package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/storage"
)

// exportPath answers with the points of a range, exportRangesPath with the next ranges after one, exportBehindPath with what
// is not exported.
const (
	exportPath       = prom.APIPrefix + "/admin/export/opentsdb"
	exportRangesPath = exportPath + "/ranges"
	exportBehindPath = exportPath + "/behind"
)

// An exportRequest is the body of all. Range is the one to read, or the one after which others are asked for.
type exportRequest struct {
	tsdtext.ExportQuery
	Range pipeline.Range `json:"range"`
}

// An exportFrame is a line of JSON, which is followed by Bytes of text. The last one of an answer has
// Done or Error; without it the answer is not complete.
type exportFrame struct {
	Bytes   int    `json:"bytes"`
	Points  int64  `json:"points,omitempty"`
	LeftOut int64  `json:"leftOut,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Until   int64  `json:"until,omitempty"`
	Done    bool   `json:"done,omitempty"`
	Error   string `json:"error,omitempty"`
	Final   bool   `json:"final,omitempty"` // asking again does not help
}

// Bounds of what is read of an adapter: a frame's text, its line, and an answer of ranges.
const (
	maxFrameText = 64 << 20
	maxFrameLine = 64 << 10
)

// RemoteExport exports by way of a running adapter.
type RemoteExport struct {
	Base  string
	Query tsdtext.ExportQuery
}

// Ranges implements pipeline.Source.
func (r RemoteExport) Ranges(ctx context.Context, after pipeline.Range) (ranges []pipeline.Range, err error) {
	err = askJSON(ctx, r.Base, exportRangesPath, exportRequest{r.Query, after}, &ranges)
	return ranges, err
}

// Behind implements exportSource.
func (r RemoteExport) Behind(ctx context.Context) (behind string, err error) {
	req, err := jsonRequest(ctx, r.Base, exportBehindPath, exportRequest{ExportQuery: r.Query})
	if err != nil {
		return "", err
	}
	return behind, answerOf(req, &behind)
}

// Read implements pipeline.Source.
func (r RemoteExport) Read(ctx context.Context, about pipeline.Range, give func(pipeline.Block) error) error {
	resp, err := openJSON(ctx, r.Base, exportPath, exportRequest{r.Query, about})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := readFrames(bufio.NewReaderSize(resp.Body, maxFrameLine), give); err != nil {
		return fmt.Errorf("the answer of %s: %w", resp.Request.URL.Redacted(), err)
	}
	return nil
}

// readFrames gives the blocks of an answer.
func readFrames(from *bufio.Reader, give func(pipeline.Block) error) error {
	var text []byte
	for {
		var f exportFrame
		if err := readHead(from, &f); err != nil {
			return err
		}
		switch {
		case f.Error != "" && f.Final:
			return pipeline.FinalError{Err: errors.New(f.Error)}
		case f.Error != "":
			return errors.New(f.Error)
		case f.Done:
			return nil
		case f.Bytes < 0 || f.Bytes > maxFrameText:
			return fmt.Errorf("a block of %d bytes", f.Bytes)
		}
		if cap(text) < f.Bytes {
			text = make([]byte, f.Bytes)
		}
		text = text[:f.Bytes]
		if err := readData(from, text); err != nil {
			return err
		}
		if err := give(pipeline.Block{Text: text, Points: f.Points, LeftOut: f.LeftOut, Reason: f.Reason, Until: f.Until}); err != nil {
			return err
		}
	}
}

// Exports answer exports elsewhere.
type Exports struct {
	failer
	Points  tsdtext.ExportOptions
	Samples Samples
	Files   FilesSource
}

// NewExports returns those of a store.
func NewExports(logger *slog.Logger, points tsdtext.ExportOptions, samples Samples, files FilesSource) *Exports {
	return &Exports{failer{logger}, points, samples, files}
}

// Handlers implements Operations.
func (e *Exports) Handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		exportPath: e.exportRange, exportRangesPath: e.exportRanges, exportBehindPath: e.exportBehind, exportWhisperPath: e.exportWhisper,
		exportColumnsPath: e.exportColumns, exportNextPath: e.exportNext, exportMetadataPath: e.exportMetadata,
	}
}

// exporter reads a request and returns what answers it.
func (e *Exports) exporter(r *http.Request) (x *tsdtext.Exporter, about pipeline.Range, err error) {
	var req exportRequest
	if err := readJSON(r.Body, &req); err != nil {
		return nil, about, err
	}
	x, err = tsdtext.NewExporter(e.Points, req.ExportQuery)
	return x, req.Range, err
}

// exportRanges answers with ranges.
func (e *Exports) exportRanges(w http.ResponseWriter, r *http.Request) {
	e.answerExport(w, r, func(x *tsdtext.Exporter, after pipeline.Range) (any, error) { return x.Ranges(r.Context(), after) })
}

// exportBehind answers with what is not exported.
func (e *Exports) exportBehind(w http.ResponseWriter, r *http.Request) {
	e.answerExport(w, r, func(x *tsdtext.Exporter, _ pipeline.Range) (any, error) { return x.Behind(r.Context()) })
}

// answerExport answers a request with what ask returns.
func (e *Exports) answerExport(w http.ResponseWriter, r *http.Request, ask func(x *tsdtext.Exporter, about pipeline.Range) (any, error)) {
	x, about, err := e.exporter(r)
	var data any
	if err == nil {
		data, err = ask(x, about)
	}
	e.answer(w, r, data, err)
}

// exportRange answers with the points of a range, as they are read.
func (e *Exports) exportRange(w http.ResponseWriter, r *http.Request) {
	x, about, err := e.exporter(r)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	send := func(f exportFrame, text []byte) error {
		f.Bytes = len(text)
		return writeFrame(w, f, text)
	}
	err = x.Read(r.Context(), about, func(b pipeline.Block) error {
		countTransfer(r.Context(), b.Points, b.LeftOut)
		return send(exportFrame{Points: b.Points, LeftOut: b.LeftOut, Reason: b.Reason, Until: b.Until}, b.Text)
	})
	last := exportFrame{Done: true}
	if err != nil {
		_, final := errors.AsType[pipeline.FinalError](FinalExport(err))
		last = exportFrame{Error: err.Error(), Final: final}
		failTransfer(r.Context())
		e.warn(r, err)
	}
	_ = send(last, nil) // the client misses it
}

// FinalExport tells errors of an export that stay, which become a pipeline.FinalError, from those that pass.
func FinalExport(err error) error {
	for _, final := range []error{storage.ErrDamaged, storage.ErrUnreadable, storage.ErrInvalid, storage.ErrLimit, query.ErrTooLarge} {
		if errors.Is(err, final) {
			return pipeline.FinalError{Err: err}
		}
	}
	return err
}

package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/transfer"
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
	opentsdb.ExportQuery
	Range transfer.Range `json:"range"`
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

// remoteSource exports by way of a running adapter.
type remoteSource struct {
	base  string
	query opentsdb.ExportQuery
}

func remoteExport(base string, e *ExportOptions) func(start, end int64) (exportSource, error) {
	return func(start, end int64) (exportSource, error) {
		return remoteSource{base, opentsdb.ExportQuery{Match: e.Match, With: e.With, Start: start, End: end}}, nil
	}
}

// Ranges implements transfer.Source.
func (r remoteSource) Ranges(ctx context.Context, after transfer.Range) (ranges []transfer.Range, err error) {
	req, err := jsonRequest(ctx, r.base, exportRangesPath, exportRequest{r.query, after})
	if err != nil {
		return nil, err
	}
	return ranges, finalRefusal(answerOf(req, &ranges))
}

// Behind implements exportSource.
func (r remoteSource) Behind(ctx context.Context) (behind string, err error) {
	req, err := jsonRequest(ctx, r.base, exportBehindPath, exportRequest{ExportQuery: r.query})
	if err != nil {
		return "", err
	}
	return behind, answerOf(req, &behind)
}

// Read implements transfer.Source.
func (r remoteSource) Read(ctx context.Context, about transfer.Range, give func(transfer.Block) error) error {
	req, err := jsonRequest(ctx, r.base, exportPath, exportRequest{r.query, about})
	if err != nil {
		return err
	}
	resp, err := openAnswer(req)
	if err != nil {
		return finalRefusal(err)
	}
	defer resp.Body.Close()
	if err := readFrames(bufio.NewReaderSize(resp.Body, maxFrameLine), give); err != nil {
		return fmt.Errorf("the answer of %s: %w", req.URL.Redacted(), err)
	}
	return nil
}

// readFrames gives the blocks of an answer.
func readFrames(from *bufio.Reader, give func(transfer.Block) error) error {
	var text []byte
	for {
		var f exportFrame
		if err := readHead(from, &f); err != nil {
			return err
		}
		switch {
		case f.Error != "" && f.Final:
			return transfer.FinalError{Err: errors.New(f.Error)}
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
		if err := give(transfer.Block{Text: text, Points: f.Points, LeftOut: f.LeftOut, Reason: f.Reason, Until: f.Until}); err != nil {
			return err
		}
	}
}

// exporter reads a request and returns what answers it.
func (a *adminAPI) exporter(r *http.Request) (x *opentsdb.Exporter, about transfer.Range, err error) {
	var req exportRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, about, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	x, err = opentsdb.NewExporter(a.exports, req.ExportQuery)
	return x, req.Range, err
}

// failExport answers before anything is exported.
func (a *adminAPI) failExport(w http.ResponseWriter, r *http.Request, err error) {
	if storage.IsRefusal(err) {
		reply.BadRequest(w, err)
		return
	}
	a.fail(w, r, err)
}

// exportRanges answers with ranges.
func (a *adminAPI) exportRanges(w http.ResponseWriter, r *http.Request) {
	a.answerExport(w, r, func(x *opentsdb.Exporter, after transfer.Range) (any, error) { return x.Ranges(r.Context(), after) })
}

// exportBehind answers with what is not exported.
func (a *adminAPI) exportBehind(w http.ResponseWriter, r *http.Request) {
	a.answerExport(w, r, func(x *opentsdb.Exporter, _ transfer.Range) (any, error) { return x.Behind(r.Context()) })
}

// answerExport answers a request with what ask returns.
func (a *adminAPI) answerExport(w http.ResponseWriter, r *http.Request, ask func(x *opentsdb.Exporter, about transfer.Range) (any, error)) {
	x, about, err := a.exporter(r)
	var data any
	if err == nil {
		data, err = ask(x, about)
	}
	if err != nil {
		a.failExport(w, r, err)
		return
	}
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: data})
}

// exportRange answers with the points of a range, as they are read.
func (a *adminAPI) exportRange(w http.ResponseWriter, r *http.Request) {
	x, about, err := a.exporter(r)
	if err != nil {
		a.failExport(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	send := func(f exportFrame, text []byte) error {
		f.Bytes = len(text)
		return writeFrame(w, f, text)
	}
	err = x.Read(r.Context(), about, func(b transfer.Block) error {
		countTransfer(r.Context(), b.Points, b.LeftOut)
		return send(exportFrame{Points: b.Points, LeftOut: b.LeftOut, Reason: b.Reason, Until: b.Until}, b.Text)
	})
	last := exportFrame{Done: true}
	if err != nil {
		_, final := errors.AsType[transfer.FinalError](finalExport(err))
		last = exportFrame{Error: err.Error(), Final: final}
		failTransfer(r.Context())
		a.o.Logger.WarnContext(r.Context(), "admin request failed; see /-/ready if the tables are away", "path", r.URL.Path, "err", err)
	}
	_ = send(last, nil) // the client misses it
}

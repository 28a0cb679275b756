package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"

	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// Paths by which "copy" asks a running adapter: for the parts of its store, the next ranges of one, what a range has, and to
// put a block.
const (
	copyPath       = prom.APIPrefix + "/admin/copy"
	copyPartsPath  = copyPath + "/parts"
	copyRangesPath = copyPath + "/ranges"
	copyReadPath   = copyPath + "/read"
	copyWritePath  = copyPath + "/write"
	// copyChangesPath answers what has changed, copyDeletePath deletes.
	copyChangesPath = copyPath + "/changes"
	copyDeletePath  = copyPath + "/delete"
)

// A copyRequest is the body of all but the last. Range is the one to read, or the one after which others are asked for.
type copyRequest struct {
	CopyQuery
	Range pipeline.Range `json:"range"`
}

// A copyFrame is the head of a frame, whose bytes are a block. The last one of an answer has Done or Error.
type copyFrame struct {
	Bytes int             `json:"bytes"`
	Rest  *pipeline.Range `json:"rest,omitempty"`
	Done  bool            `json:"done,omitempty"`
	Error string          `json:"error,omitempty"`
	Final bool            `json:"final,omitempty"` // asking again does not help
}

// RemoteCopy is the store of a running adapter.
type RemoteCopy struct{ Base string }

// Source returns a reader of what is copied.
func (r RemoteCopy) Source(q CopyQuery) (tablecopy.Source, error) { return remoteReader{r, q}, nil }

// Put implements tablecopy.Target.
func (r RemoteCopy) Put(ctx context.Context, b *tablecopy.Block) (lost []tablecopy.Loss, err error) {
	body, err := b.AppendTo(nil)
	if err != nil {
		return nil, pipeline.FinalError{Err: err}
	}
	req, err := Request(ctx, http.MethodPost, r.Base, copyWritePath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	return lost, finalRefusal(answerOf(req, &lost))
}

// Changes implements tablecopy.Follower.
func (r RemoteCopy) Changes(ctx context.Context, since string) (c tablecopy.Changes, err error) {
	resp, err := openJSON(ctx, r.Base, copyChangesPath, since)
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	err = json.NewDecoder(io.LimitReader(resp.Body, tablecopy.MaxBlockBytes)).Decode(&struct {
		Data any `json:"data"`
	}{&c})
	return c, err
}

// Delete implements tablecopy.Deleter.
func (r RemoteCopy) Delete(ctx context.Context, list []tablecopy.Deletion) error {
	for some := range slices.Chunk(list, deletedAtOnce) {
		if err := askJSON(ctx, r.Base, copyDeletePath, some, nil); err != nil {
			return err
		}
	}
	return nil
}

// deletedAtOnce is how many series are deleted in with one request.
const deletedAtOnce = 1000

// Copies answer a "copy" elsewhere, from and into one store.
type Copies struct {
	failer
	Store *LocalCopy
}

// NewCopies returns those of a store.
func NewCopies(logger *slog.Logger, store *LocalCopy) *Copies { return &Copies{failer{logger}, store} }

// Handlers implements Operations.
func (c *Copies) Handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		copyPartsPath: c.answerCopy(copyParts), copyRangesPath: c.answerCopy(copyRanges), copyReadPath: c.copyRead, copyWritePath: c.copyWrite,
		copyChangesPath: c.copyChanges, copyDeletePath: c.copyDelete,
	}
}

// copyChanges answers what has changed since a moment.
func (c *Copies) copyChanges(w http.ResponseWriter, r *http.Request) {
	var since string
	var changes tablecopy.Changes
	err := readJSON(r.Body, &since)
	if err == nil {
		changes, err = c.Store.Changes(r.Context(), since)
	}
	c.answer(w, r, changes, err)
}

// copyDelete deletes points that the source of a copy has no longer.
func (c *Copies) copyDelete(w http.ResponseWriter, r *http.Request) {
	var list []tablecopy.Deletion
	err := readJSON(r.Body, &list)
	if err == nil {
		err = c.Store.Delete(r.Context(), list)
	}
	c.answer(w, r, nil, err)
}

// remoteReader reads the store of a running adapter.
type remoteReader struct {
	RemoteCopy
	query CopyQuery
}

// Parts implements tablecopy.Source.
func (r remoteReader) Parts(ctx context.Context) (parts []string, err error) {
	err = askJSON(ctx, r.Base, copyPartsPath, copyRequest{CopyQuery: r.query}, &parts)
	return parts, err
}

// Ranges implements tablecopy.Source.
func (r remoteReader) Ranges(ctx context.Context, after pipeline.Range) (ranges []pipeline.Range, err error) {
	err = askJSON(ctx, r.Base, copyRangesPath, copyRequest{r.query, after}, &ranges)
	return ranges, err
}

// Read implements tablecopy.Source.
func (r remoteReader) Read(ctx context.Context, about pipeline.Range, give func(*tablecopy.Block) error) error {
	resp, err := openJSON(ctx, r.Base, copyReadPath, copyRequest{r.query, about})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	from := bufio.NewReaderSize(resp.Body, maxFrameLine)
	for {
		b, err := readCopyFrame(from)
		if err != nil {
			return fmt.Errorf("the answer of %s: %w", resp.Request.URL.Redacted(), err)
		}
		if b == nil {
			return nil
		}
		if err := give(b); err != nil {
			return err
		}
	}
}

// readCopyFrame reads a block; nil: the answer is complete.
func readCopyFrame(from *bufio.Reader) (*tablecopy.Block, error) {
	var f copyFrame
	if err := readHead(from, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Error != "" && f.Final:
		return nil, pipeline.FinalError{Err: errors.New(f.Error)}
	case f.Error != "":
		return nil, errors.New(f.Error)
	case f.Done:
		return nil, nil //nolint:nilnil // it is an answer
	case f.Bytes < 0 || f.Bytes > tablecopy.MaxBlockBytes:
		return nil, fmt.Errorf("a block of %d bytes", f.Bytes)
	}
	data := make([]byte, f.Bytes)
	if err := readData(from, data); err != nil {
		return nil, err
	}
	b, err := tablecopy.ParseBlock(data)
	if err != nil {
		return nil, pipeline.FinalError{Err: err}
	}
	b.Rest = f.Rest
	return b, nil
}

// finalCopy tells errors of a source that stay from those that pass, as FinalExport does; rows that nobody can read stay too.
func finalCopy(err error) error {
	if tablecopy.Unreadable(err) {
		return pipeline.FinalError{Err: err}
	}
	return FinalExport(err)
}

// copySource reads a request and returns what answers it.
func (c *Copies) copySource(r *http.Request) (source tablecopy.Source, about pipeline.Range, err error) {
	var req copyRequest
	if err := readJSON(r.Body, &req); err != nil {
		return nil, about, err
	}
	source, err = c.Store.Source(req.CopyQuery)
	return source, req.Range, err
}

// answerCopy answers with what ask returns.
func (c *Copies) answerCopy(ask func(ctx context.Context, from tablecopy.Source, about pipeline.Range) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		source, about, err := c.copySource(r)
		var data any
		if err == nil {
			data, err = ask(r.Context(), source, about)
		}
		c.answer(w, r, data, err)
	}
}

func copyParts(ctx context.Context, from tablecopy.Source, _ pipeline.Range) (any, error) {
	return from.Parts(ctx)
}

func copyRanges(ctx context.Context, from tablecopy.Source, after pipeline.Range) (any, error) {
	ranges, err := from.Ranges(ctx, after)
	if ranges == nil {
		ranges = []pipeline.Range{}
	}
	return ranges, err
}

// copyRead answers with the blocks of a range, as they are read.
func (c *Copies) copyRead(w http.ResponseWriter, r *http.Request) {
	source, about, err := c.copySource(r)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	var data []byte
	err = source.Read(r.Context(), about, func(b *tablecopy.Block) (err error) {
		if data, err = b.AppendTo(data[:0]); err != nil {
			return err
		}
		countTransfer(r.Context(), b.Points(), int64(len(b.Lost)))
		return writeFrame(w, copyFrame{Bytes: len(data), Rest: b.Rest}, data)
	})
	last := copyFrame{Done: true}
	if err != nil {
		_, final := errors.AsType[pipeline.FinalError](finalCopy(err))
		last = copyFrame{Error: err.Error(), Final: final}
		failTransfer(r.Context())
		c.warn(r, err)
	}
	_ = writeFrame(w, last, nil) // the client misses it
}

// copyWrite answers a block when it is durable.
func (c *Copies) copyWrite(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	b, err := tablecopy.ParseBlock(body)
	var lost []tablecopy.Loss
	if err == nil {
		lost, err = c.Store.Put(r.Context(), b)
	}
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	countTransfer(r.Context(), b.Points(), int64(len(lost)))
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: lost})
}

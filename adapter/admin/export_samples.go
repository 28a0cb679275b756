package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/extract"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/storage"
)

// exportColumnsPath answers with samples of series, exportNextPath with the time at which they go on, and
// exportMetadataPath with the metadata of metrics.
const (
	exportColumnsPath  = prom.APIPrefix + "/admin/export/prometheus"
	exportNextPath     = exportColumnsPath + "/next"
	exportMetadataPath = exportColumnsPath + "/metadata"
)

// A SamplesQuery selects what is exported, as the body of a request has it.
type SamplesQuery struct {
	Match     []string `json:"match,omitempty"`
	From      int64    `json:"from"`
	To        int64    `json:"to"`
	Exemplars bool     `json:"exemplars,omitempty"`
}

// Samples is what reads labelled samples of a store, for exports and comparisons. See extract.Reader.
type Samples interface {
	Next(ctx context.Context, from, to int64) (at int64, ok bool, err error)
	Read(ctx context.Context, q SamplesQuery, give func(*columns.Batch) error) error
	Metadata(ctx context.Context) (map[string]metadata.Metadata, error)
}

// ownSamples reads the tables.
type ownSamples struct {
	reader extract.Reader
	budget *query.Budget
}

// NewSamples returns those of a reader. A read has an account of the budget.
func NewSamples(reader extract.Reader, of *query.Budget) Samples {
	return ownSamples{reader, of}
}

func (c ownSamples) Next(ctx context.Context, from, to int64) (int64, bool, error) {
	account := c.budget.Open()
	defer account.Close()
	return c.reader.Next(query.WithAccount(ctx, account), from, to)
}

func (c ownSamples) Read(ctx context.Context, q SamplesQuery, give func(*columns.Batch) error) error {
	match, err := ParseSelectors(q.Match)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	account := c.budget.Open()
	defer account.Close()
	return c.reader.Read(query.WithAccount(ctx, account), extract.Query{Match: match, From: q.From, To: q.To, Exemplars: q.Exemplars}, give)
}

func (c ownSamples) Metadata(ctx context.Context) (map[string]metadata.Metadata, error) {
	return c.reader.Metadata(ctx)
}

// RemoteSamples reads by way of a running adapter.
type RemoteSamples struct{ Base string }

// nextAnswer is the answer about a time.
type nextAnswer struct {
	At int64 `json:"at"`
	OK bool  `json:"ok"`
}

// Next implements Samples.
func (r RemoteSamples) Next(ctx context.Context, from, to int64) (int64, bool, error) {
	var a nextAnswer
	err := askJSON(ctx, r.Base, exportNextPath, SamplesQuery{From: from, To: to}, &a)
	return a.At, a.OK, err
}

// Metadata implements Samples.
func (r RemoteSamples) Metadata(ctx context.Context) (all map[string]metadata.Metadata, err error) {
	resp, err := openJSON(ctx, r.Base, exportMetadataPath, SamplesQuery{})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return all, json.NewDecoder(resp.Body).Decode(&all)
}

// Read implements Samples.
func (r RemoteSamples) Read(ctx context.Context, q SamplesQuery, give func(*columns.Batch) error) error {
	resp, err := openJSON(ctx, r.Base, exportColumnsPath, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	err = readFrames(bufio.NewReaderSize(resp.Body, maxFrameLine), func(b pipeline.Block) error {
		batch, err := columns.Parse(b.Text)
		if err != nil {
			return err
		}
		return give(batch)
	})
	if err != nil {
		return fmt.Errorf("the answer of %s: %w", resp.Request.URL.Redacted(), err)
	}
	return nil
}

func columnsRequest(r *http.Request) (q SamplesQuery, err error) {
	if err := readJSON(http.MaxBytesReader(nil, r.Body, maxFrameLine), &q); err != nil {
		return q, err
	}
	_, err = ParseSelectors(q.Match)
	if err != nil {
		err = fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return q, err
}

// exportNext answers with the time at which samples go on.
func (e *Exports) exportNext(w http.ResponseWriter, r *http.Request) {
	q, err := columnsRequest(r)
	var n nextAnswer
	if err == nil {
		n.At, n.OK, err = e.Samples.Next(r.Context(), q.From, q.To)
	}
	e.answer(w, r, n, err)
}

// exportMetadata answers with the metadata of metrics.
func (e *Exports) exportMetadata(w http.ResponseWriter, r *http.Request) {
	all, err := e.Samples.Metadata(r.Context())
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all) // the client misses it
}

// exportColumns answers with samples, as they are read.
func (e *Exports) exportColumns(w http.ResponseWriter, r *http.Request) {
	q, err := columnsRequest(r)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	var text []byte
	err = e.Samples.Read(r.Context(), q, func(b *columns.Batch) error {
		text = b.AppendTo(text[:0])
		countTransfer(r.Context(), int64(b.Samples()), 0)
		return writeFrame(w, exportFrame{Bytes: len(text), Points: int64(b.Samples())}, text)
	})
	last := exportFrame{Done: true}
	if err != nil {
		_, final := errors.AsType[pipeline.FinalError](FinalExport(err))
		last = exportFrame{Error: err.Error(), Final: final}
		failTransfer(r.Context())
		e.warn(r, err)
	}
	_ = writeFrame(w, last, nil) // the client misses it
}

// ParseSelectors reads selectors of PromQL. An error begins with the one that is wrong.
func ParseSelectors(all []string) (match [][]*labels.Matcher, err error) {
	for _, text := range all {
		ms, err := pathlabel.ParseLabels(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		match = append(match, ms)
	}
	return match, nil
}

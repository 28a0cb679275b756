package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/budget"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/extract"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/transfer"
)

// exportColumnsPath answers with samples of series, exportNextPath with the time at which they go on, and
// exportMetadataPath with the metadata of metrics.
const (
	exportColumnsPath  = prom.APIPrefix + "/admin/export/prometheus"
	exportNextPath     = exportColumnsPath + "/next"
	exportMetadataPath = exportColumnsPath + "/metadata"
)

// A columnsQuery selects what is exported, as the body of a request has it.
type columnsQuery struct {
	Match     []string `json:"match,omitempty"`
	From      int64    `json:"from"`
	To        int64    `json:"to"`
	Exemplars bool     `json:"exemplars,omitempty"`
}

// A columnsSource is a store that is exported. See extract.Reader.
type columnsSource interface {
	next(ctx context.Context, from, to int64) (at int64, ok bool, err error)
	read(ctx context.Context, q columnsQuery, give func(*columns.Batch) error) error
	metadata(ctx context.Context) (map[string]metadata.Metadata, error)
}

// An openedColumns is the source of an export, and whom it tells how far it is.
type openedColumns struct {
	columnsSource
	name   string          // for the state
	teller *transferTeller // of the adapter that exports; nil: the tables are opened
}

// openColumns calls use with the source of an export: the tables, or the adapter that has them open.
func (o Options) openColumns(ctx context.Context, url, kind string, use func(ctx context.Context, s openedColumns) error) error {
	return o.aloneOrAsked(url, func() error {
		return o.runAlone(ctx, func(ctx context.Context, a *Adapter) error {
			return use(ctx, openedColumns{a.columnsSource(), o.target(), nil})
		})
	}, func(base string) error {
		teller := newTransferTeller(base, kind)
		return use(teller.with(ctx), openedColumns{remoteColumns{base}, base, teller})
	})
}

// timeWindows are the windows of time that an export goes through, in milliseconds.
type timeWindows struct{ first, last, length int64 }

// newTimeWindows returns those from the first samples to the last ones, which are not known but by the end that is asked for, and by now.
func newTimeWindows(first, to, length int64, now time.Time) timeWindows {
	return timeWindows{first / length, max(first, min(to, now.UnixMilli())) / length, length}
}

// place returns which of how many windows the one is that begins at a time.
func (w timeWindows) place(begin int64) (nth, of int) {
	n := begin / w.length
	return int(n - w.first), int(max(w.last, n) - w.first + 1)
}

// ownColumns reads the tables.
type ownColumns struct {
	extract.Reader

	budget *budget.Budget
}

// hours tells when metrics of a store have points.
type hours struct{ *storage.Store }

// NextHour implements extract.Hours.
func (h hours) NextHour(ctx context.Context, metric string, from int64) (int64, bool, error) {
	return h.Catalog().NextHour(ctx, metric, from)
}

func (a *Adapter) columnsSource() columnsSource {
	shown := queryable.New(a.store, a.names, queryable.Limits{})
	return ownColumns{extract.Reader{Store: shown, Hours: hours{a.store}, Documents: a.store.Documents()}, a.budget}
}

func (c ownColumns) next(ctx context.Context, from, to int64) (int64, bool, error) {
	account := c.budget.Open()
	defer account.Close()
	return c.Next(budget.With(ctx, account), from, to)
}

func (c ownColumns) read(ctx context.Context, q columnsQuery, give func(*columns.Batch) error) error {
	match, err := parseMatch(q.Match)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	account := c.budget.Open()
	defer account.Close()
	return c.Read(budget.With(ctx, account), extract.Query{Match: match, From: q.From, To: q.To, Exemplars: q.Exemplars}, give)
}

func (c ownColumns) metadata(ctx context.Context) (map[string]metadata.Metadata, error) {
	return c.Metadata(ctx)
}

// remoteColumns reads by way of a running adapter.
type remoteColumns struct{ base string }

// nextAnswer is the answer about a time.
type nextAnswer struct {
	At int64 `json:"at"`
	OK bool  `json:"ok"`
}

func (r remoteColumns) next(ctx context.Context, from, to int64) (int64, bool, error) {
	req, err := jsonRequest(ctx, r.base, exportNextPath, columnsQuery{From: from, To: to})
	if err != nil {
		return 0, false, err
	}
	var a nextAnswer
	err = answerOf(req, &a)
	return a.At, a.OK, finalRefusal(err)
}

func (r remoteColumns) metadata(ctx context.Context) (all map[string]metadata.Metadata, err error) {
	req, err := jsonRequest(ctx, r.base, exportMetadataPath, columnsQuery{})
	if err != nil {
		return nil, err
	}
	resp, err := openAnswer(req)
	if err != nil {
		return nil, finalRefusal(err)
	}
	defer resp.Body.Close()
	return all, json.NewDecoder(resp.Body).Decode(&all)
}

func (r remoteColumns) read(ctx context.Context, q columnsQuery, give func(*columns.Batch) error) error {
	req, err := jsonRequest(ctx, r.base, exportColumnsPath, q)
	if err != nil {
		return err
	}
	resp, err := openAnswer(req)
	if err != nil {
		return finalRefusal(err)
	}
	defer resp.Body.Close()
	err = readFrames(bufio.NewReaderSize(resp.Body, maxFrameLine), func(b transfer.Block) error {
		batch, err := columns.Parse(b.Text)
		if err != nil {
			return err
		}
		return give(batch)
	})
	if err != nil {
		return fmt.Errorf("the answer of %s: %w", req.URL.Redacted(), err)
	}
	return nil
}

func columnsRequest(r *http.Request) (q columnsQuery, err error) {
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxFrameLine)).Decode(&q); err != nil {
		return q, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	_, err = parseMatch(q.Match)
	if err != nil {
		err = fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return q, err
}

// exportNext answers with the time at which samples go on.
func (a *adminAPI) exportNext(w http.ResponseWriter, r *http.Request) {
	q, err := columnsRequest(r)
	var n nextAnswer
	if err == nil {
		n.At, n.OK, err = a.samples.next(r.Context(), q.From, q.To)
	}
	if err != nil {
		a.failExport(w, r, err)
		return
	}
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: n})
}

// exportMetadata answers with the metadata of metrics.
func (a *adminAPI) exportMetadata(w http.ResponseWriter, r *http.Request) {
	all, err := a.samples.metadata(r.Context())
	if err != nil {
		a.failExport(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all) // the client misses it
}

// exportColumns answers with samples, as they are read.
func (a *adminAPI) exportColumns(w http.ResponseWriter, r *http.Request) {
	q, err := columnsRequest(r)
	if err != nil {
		a.failExport(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	var text []byte
	err = a.samples.read(r.Context(), q, func(b *columns.Batch) error {
		text = b.AppendTo(text[:0])
		countTransfer(r.Context(), int64(b.Samples()), 0)
		return writeFrame(w, exportFrame{Bytes: len(text), Points: int64(b.Samples())}, text)
	})
	last := exportFrame{Done: true}
	if err != nil {
		_, final := errors.AsType[transfer.FinalError](finalExport(err))
		last = exportFrame{Error: err.Error(), Final: final}
		failTransfer(r.Context())
		a.o.Logger.WarnContext(r.Context(), "admin request failed; see /-/ready if the tables are away", "path", r.URL.Path, "err", err)
	}
	_ = writeFrame(w, last, nil) // the client misses it
}

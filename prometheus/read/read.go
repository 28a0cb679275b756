// Package read serves Prometheus' remote read: samples in one message, or a stream of chunks. It
// evaluates no query.
package read

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/prometheus/prompb"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
)

// Handler serves POST /api/v1/read.
type Handler struct {
	Options
	turns    *query.Turns
	encoders sync.Pool // of *sampleEncoder
	inFlight prometheus.Gauge
	// times of requests
	streamTime, sampleTime prometheus.Observer
}

// New returns the handler of remote read.
func New(o Options) *Handler {
	factory := promauto.With(o.Registerer)
	duration := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "tsdbridge_remote_read_duration_seconds",
		Help:    "Time of remote read requests that were answered or failed while they were, by the type of the response.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
	}, []string{"response"})
	return &Handler{
		Options:  o,
		turns:    query.NewTurns(o.Concurrency),
		encoders: sync.Pool{New: func() any { return &sampleEncoder{limit: o.Samples} }},
		inFlight: factory.NewGauge(prometheus.GaugeOpts{
			Name: "tsdbridge_remote_read_requests_in_flight",
			Help: "Remote read requests that are answered or wait for their turn.",
		}),
		streamTime: duration.WithLabelValues("streamed_xor_chunks"), sampleTime: duration.WithLabelValues("samples"),
	}
}

// With returns a handler with other limits, which shares turns and metrics with this one.
func (h *Handler) With(o Options) *Handler {
	return &Handler{
		Options: o, turns: h.turns, inFlight: h.inFlight, streamTime: h.streamTime, sampleTime: h.sampleTime,
		encoders: sync.Pool{New: func() any { return &sampleEncoder{limit: o.Samples} }},
	}
}

// ServeHTTP answers a read request with samples or with streamed chunks: the first of the two that
// the client lists.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	h.inFlight.Inc()
	defer h.inFlight.Dec()
	ctx, cancel := h.deadline(r.Context())
	defer cancel()
	req, err := decodeRead(w, r)
	if err != nil {
		httpapi.Text(w, err)
		return
	}
	ctx, q := h.Running.Begin(ctx, query.Description{Language: "remote read", Text: described(req), Client: r.RemoteAddr})
	defer q.End()
	turn, err := h.turns.Begin(ctx)
	if err != nil {
		httpapi.Text(w, httpapi.QueryError(ctx, "wait for other reads", err))
		return
	}
	defer turn.End()
	ctx = query.WithTurn(ctx, turn)
	if err := checkRegexps(req); err != nil {
		httpapi.Text(w, err)
		return
	}
	if streamed(req) {
		h.stream(ctx, w, req)
		h.streamTime.Observe(time.Since(start).Seconds())
		return
	}
	h.samples(ctx, w, req)
	h.sampleTime.Observe(time.Since(start).Seconds())
}

func (h *Handler) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, h.Timeout)
}

// streamed reports whether the first known response type in the client's list is the stream.
func streamed(req *prompb.ReadRequest) bool {
	t, err := remote.NegotiateResponseType(req.AcceptedResponseTypes)
	return err == nil && t == prompb.ReadRequest_STREAMED_XOR_CHUNKS
}

// samples answers with one message that holds everything.
func (h *Handler) samples(ctx context.Context, w http.ResponseWriter, req *prompb.ReadRequest) {
	e := h.encoders.Get().(*sampleEncoder)
	defer func() {
		if e.reset() {
			h.encoders.Put(e)
		}
	}()
	e.account = query.AccountOf(ctx)
	for _, query := range req.Queries {
		if err := h.result(ctx, e, query); err != nil {
			httpapi.Text(w, err)
			return
		}
	}
	if err := e.account.Take(int64(s2.MaxEncodedLen(len(e.response)))); err != nil {
		httpapi.Text(w, httpapi.QueryError(ctx, "compress the answer", err))
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	answer := e.compressed()
	query.TurnOf(ctx).End()
	// An error here is a client that went away.
	_, _ = w.Write(answer)
}

func (h *Handler) result(ctx context.Context, e *sampleEncoder, query *prompb.Query) error {
	matchers, err := readMatchers(query)
	if err != nil {
		return err
	}
	if len(matchers) == 0 {
		return e.endResult()
	}
	set, err := h.columnsOf(ctx, query, matchers)
	if err != nil {
		return err
	}
	if set != nil {
		if err := e.addColumns(ctx, set); !errors.Is(err, columns.ErrHandOver) {
			return err
		}
	}
	q, err := h.Queryable.Querier(query.StartTimestampMs, query.EndTimestampMs)
	if err != nil {
		return err
	}
	defer q.Close()
	return e.add(ctx, q.Select(ctx, false, readHints(query.Hints), matchers...))
}

// stream answers with one frame for each series, sorted by labels.
func (h *Handler) stream(ctx context.Context, w http.ResponseWriter, req *prompb.ReadRequest) {
	w.Header().Set("Content-Type", "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
	out := &countingWriter{w: w}
	for i, query := range req.Queries {
		err := h.streamQuery(ctx, out, int64(i), query)
		switch {
		case err == nil:
		case out.n == 0:
			httpapi.Text(w, err)
			return
		default:
			// The status has been sent. Cutting the connection is the only way left to signal that
			// the answer is incomplete.
			if ctx.Err() == nil {
				h.Logger.Warn("a stream of remote read was cut off; the client must repeat the request", "err", err)
			}
			panic(http.ErrAbortHandler)
		}
	}
}

func (h *Handler) streamQuery(ctx context.Context, out *countingWriter, index int64, selection *prompb.Query) error {
	matchers, err := readMatchers(selection)
	if err != nil {
		return err
	}
	if len(matchers) == 0 {
		return nil
	}
	account := query.AccountOf(ctx)
	before := account.Held()
	// nothing of a query is held when it has been sent
	defer func() { account.Give(account.Held() - before) }()
	parts, ok, err := h.Queryable.ChunkParts(ctx, selection.StartTimestampMs, selection.EndTimestampMs, readHints(selection.Hints), matchers)
	if err != nil {
		return err
	}
	if ok {
		return h.streamParts(ctx, out, index, parts)
	}
	q, err := h.Queryable.ChunkQuerier(selection.StartTimestampMs, selection.EndTimestampMs)
	if err != nil {
		return err
	}
	defer q.Close()
	sent := query.NewWriter(ctx, query.TurnOf(ctx), out, nil)
	if err := h.frame(sent, index, q.Select(ctx, true, readHints(selection.Hints), matchers...)); err != nil {
		return err
	}
	out.Flush()
	return nil
}

// streamParts encodes parts of the series on all cores. Each part is flushed when it has been sent.
func (h *Handler) streamParts(ctx context.Context, out *countingWriter, index int64, parts queryable.ChunkParts) error {
	return parts.Read(ctx, func() queryable.ChunkWorker { return &frameWorker{handler: h, out: out, index: index} })
}

// frameWorker encodes parts of a streamed answer.
type frameWorker struct {
	handler *Handler
	out     *countingWriter
	index   int64 // of the query
	frames  bytes.Buffer
}

// Take implements queryable.ChunkWorker.
func (w *frameWorker) Take(_ context.Context, part promstorage.ChunkSeriesSet) error {
	w.frames.Reset()
	return w.handler.frame(&w.frames, w.index, part)
}

// Commit sends the frames. Another request may compute until the client has read them.
func (w *frameWorker) Commit(ctx context.Context) error {
	query.TurnOf(ctx).PauseForClient()
	if _, err := w.out.Write(w.frames.Bytes()); err != nil {
		return err
	}
	w.out.Flush()
	return query.TurnOf(ctx).Resume(ctx)
}

// frame writes a frame for each series.
func (h *Handler) frame(w io.Writer, index int64, set promstorage.ChunkSeriesSet) error {
	limited := &frameLimitedSet{ChunkSeriesSet: set, limit: h.FrameBytes}
	// The library splits a series at the frame limit that it gets. frameLimitedSet refuses the
	// series instead.
	var frames sync.Pool // for the frames of this part: a large one is not kept
	_, err := remote.StreamChunkedReadResponses(remote.NewChunkedWriter(w, noFlush{}), index, limited, nil, math.MaxInt32, &frames)
	return err
}

// noFlush is for a writer that the caller flushes.
type noFlush struct{}

func (noFlush) Flush() {}

func readHints(h *prompb.ReadHints) *promstorage.SelectHints {
	if h == nil {
		return nil
	}
	return &promstorage.SelectHints{
		Start: h.StartMs, End: h.EndMs, Step: h.StepMs, Range: h.RangeMs,
		Func: h.Func, Grouping: h.Grouping, By: h.By,
	}
}

// countingWriter counts the bytes written. It flushes through middleware that wraps the writer.
type countingWriter struct {
	w http.ResponseWriter
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Flush sends what is buffered, if the writer below can.
func (c *countingWriter) Flush() { _ = http.NewResponseController(c.w).Flush() }

var _ io.Writer = (*countingWriter)(nil)

package query

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/vmnative"
	"github.com/tsdbridge/tsdbridge/storage"
)

// NativePath is where VictoriaMetrics and its tools get samples in VictoriaMetrics' native format.
const NativePath = Prefix + "/export/native"

// Trailers of an export: how many samples the format could not hold as they are.
const (
	roundedTrailer = "Tsdbridge-Rounded-Samples"
	leftTrailer    = "Tsdbridge-Left-Out-Samples"
)

// NativeExport serves GET and POST /api/v1/export/native: the samples of series in the native format of VictoriaMetrics, as
// they are read. The parameters match[], start and end are those of VictoriaMetrics. Native histograms and NaNs, which the
// format has no place for, are left out and counted.
type NativeExport struct {
	o       Options
	lists   apiTurns
	samples *prometheus.CounterVec
	now     func() time.Time
}

// NativeExport returns the handler of NativePath, within the limits of the API.
func (a *API) NativeExport() *NativeExport {
	return &NativeExport{o: a.o, lists: a.lists, samples: a.nativeSamples, now: time.Now}
}

func newNativeSamples(reg prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_export_native_samples_total",
		Help: "Samples that /api/v1/export/native read, by what became of them: exact, rounded, or left_out because the format has no place for them.",
	}, []string{"outcome"})
}

// ServeHTTP implements http.Handler.
func (n *NativeExport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		netserver.RefuseMethod(w, r, "GET, POST")
		return
	}
	form, cancel, err := n.o.bounded(w, r)
	cancel() // an export takes longer than a query
	if err != nil {
		httpapi.APIError(w, err)
		return
	}
	selections, err := n.selections(form)
	if err != nil {
		httpapi.APIError(w, badData(err))
		return
	}
	ctx, q := n.o.Running.Begin(r.Context(), query.Description{Language: "native export", Text: strings.Join(form.Form["match[]"], ", "), Client: r.RemoteAddr})
	defer q.End()
	ctx, end := context.WithCancelCause(query.WithClient(ctx, r.RemoteAddr))
	defer end(nil)
	a := &nativeAnswer{w: w, account: query.AccountOf(ctx), patience: patience(n.o.Timeout, end)}
	defer a.patience.Stop()
	a.finish(ctx, n, n.export(ctx, a, selections))
}

// errNoProgress ends an export of which no part was read in the time of a query.
var errNoProgress = errors.New("no part of the export was read within --query.timeout")

// patience ends an export unless it is reset within the time of a query; 0: never.
func patience(timeout time.Duration, end context.CancelCauseFunc) *resetTimer {
	if timeout <= 0 {
		return &resetTimer{}
	}
	return &resetTimer{time.AfterFunc(timeout, func() { end(errNoProgress) }), timeout}
}

// A resetTimer waits for the same time again and again. An empty one waits for ever.
type resetTimer struct {
	timer *time.Timer
	wait  time.Duration
}

// Reset begins the wait anew.
func (t *resetTimer) Reset() {
	if t.timer != nil {
		t.timer.Reset(t.wait)
	}
}

// Stop ends the wait.
func (t *resetTimer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// selections returns what is asked for: until now, if there is no end.
func (n *NativeExport) selections(r *http.Request) ([]planSelection, error) {
	for _, name := range []string{"extra_label", "extra_filters", "extra_filters[]"} {
		if r.Form.Has(name) {
			return nil, errors.New("invalid parameter \"" + name + "\": it is not served here, match[] selects")
		}
	}
	r.Form["match[]"] = append(r.Form["match[]"], r.Form["match"]...)
	all, err := formSelections(r, time.UnixMilli(0), n.now())
	for i := range all {
		all[i].start = min(max(all[i].start, 0), storage.MaxTime)
		all[i].end = min(max(all[i].end, all[i].start), storage.MaxTime)
	}
	return all, err
}

// export writes all series, each once.
func (n *NativeExport) export(ctx context.Context, a *nativeAnswer, selections []planSelection) error {
	turn, err := n.lists.turns.Begin(ctx)
	if err != nil {
		return err
	}
	defer turn.End()
	ctx = query.WithTurn(ctx, turn)
	a.text = vmnative.AppendRange(nil, selections[0].start, selections[0].end)
	var before [][]*labels.Matcher
	for _, s := range selections {
		err := n.o.Queryable.EachSeries(ctx, s.start, s.end, s.matchers, func() queryable.SeriesWorker {
			return &nativeWorker{answer: a, before: before}
		})
		if err != nil {
			return err
		}
		before = append(before, s.matchers)
	}
	return a.send(nil)
}

// nativeAnswer is an export that is being sent.
type nativeAnswer struct {
	w        http.ResponseWriter
	account  *query.Account
	patience *resetTimer
	text     []byte // the beginning of the file, until it is sent
	counts   vmnative.Counts
	sent     bool
}

// send sends the beginning of the file before its first blocks.
func (a *nativeAnswer) send(blocks []byte) error {
	a.patience.Stop() // the port ends connections that nobody reads
	defer a.patience.Reset()
	if !a.sent {
		a.sent = true
		a.w.Header().Set("Content-Type", "VictoriaMetrics/native")
		a.w.Header().Set("Trailer", roundedTrailer+", "+leftTrailer)
		if _, err := a.w.Write(a.text); err != nil {
			return err
		}
	}
	_, err := a.w.Write(blocks)
	return err
}

// finish tells what became of the samples. What was not sent whole must not look complete.
func (a *nativeAnswer) finish(ctx context.Context, n *NativeExport, err error) {
	for outcome, count := range map[string]int64{"exact": a.counts.Exact, "rounded": a.counts.Rounded, "left_out": a.counts.Left} {
		n.samples.WithLabelValues(outcome).Add(float64(count))
	}
	switch {
	case err == nil:
		a.w.Header().Set(roundedTrailer, strconv.FormatInt(a.counts.Rounded, 10))
		a.w.Header().Set(leftTrailer, strconv.FormatInt(a.counts.Left, 10))
		if a.counts.Rounded+a.counts.Left > 0 {
			n.o.Logger.WarnContext(ctx, "a native export has rounded samples and lacks those that the format cannot hold; export blocks or lines of JSON to have all", "rounded", a.counts.Rounded, "left_out", a.counts.Left)
		}
		return
	case errors.Is(context.Cause(ctx), errNoProgress):
		err = promql.ErrQueryTimeout(errNoProgress.Error())
	case ctx.Err() != nil:
		err = httpapi.QueryError(ctx, "export", ctx.Err())
	}
	if !a.sent {
		httpapi.APIError(a.w, httpapi.QueryError(ctx, "export", err))
		return
	}
	n.o.Logger.WarnContext(ctx, "a native export was cut off; the client must repeat it", "err", err)
	panic(http.ErrAbortHandler)
}

// nativeWorker encodes parts of an export.
type nativeWorker struct {
	answer *nativeAnswer
	before [][]*labels.Matcher // selectors whose series are in the file

	encoder *vmnative.Encoder
	it      chunkenc.Iterator
	text    []byte
	charged int // bytes of text, from the account
}

// Take implements queryable.SeriesWorker.
func (w *nativeWorker) Take(_ context.Context, part promstorage.SeriesSet) (err error) {
	if w.encoder == nil {
		if w.encoder, err = vmnative.NewEncoder(); err != nil {
			return err
		}
	}
	w.text = w.text[:0]
	for part.Next() {
		if s := part.At(); !columns.AnyMatches(w.before, s.Labels()) {
			if err := w.add(s); err != nil {
				return err
			}
		}
	}
	return part.Err()
}

// add encodes a series.
func (w *nativeWorker) add(s promstorage.Series) error {
	if err := w.encoder.Begin(s.Labels()); err != nil {
		return httpapi.WithStatus(http.StatusUnprocessableEntity, err)
	}
	w.it = s.Iterator(w.it)
	for kind := w.it.Next(); kind != chunkenc.ValNone; kind = w.it.Next() {
		if kind != chunkenc.ValFloat {
			w.encoder.Left++
			continue
		}
		at, v := w.it.At()
		w.text = w.encoder.Add(w.text, at, v)
		if err := w.charge(); err != nil {
			return err
		}
	}
	w.text = w.encoder.AppendRest(w.text)
	if err := w.charge(); err != nil {
		return err
	}
	return w.it.Err()
}

// charge takes the memory of the text.
func (w *nativeWorker) charge() error {
	more := cap(w.text) - w.charged
	if more <= 0 {
		return nil
	}
	w.charged += more
	return w.answer.account.Take(int64(more))
}

// Commit implements queryable.SeriesWorker. Another request may compute until the client has read the blocks.
func (w *nativeWorker) Commit(ctx context.Context) error {
	c := &w.answer.counts
	c.Exact, c.Rounded, c.Left = c.Exact+w.encoder.Exact, c.Rounded+w.encoder.Rounded, c.Left+w.encoder.Left
	w.encoder.Counts = vmnative.Counts{}
	if len(w.text) == 0 {
		return nil
	}
	query.TurnOf(ctx).PauseForClient()
	if err := w.answer.send(w.text); err != nil {
		return err
	}
	return query.TurnOf(ctx).Resume(ctx)
}

package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/transfer"
)

// importColumnsPath takes batches of labelled samples.
const importColumnsPath = prom.APIPrefix + "/admin/import/prometheus"

// SeriesChoice are the flags of imports and exports that select series and a time.
type SeriesChoice struct {
	Match    []string // --match: selectors of PromQL; none: all series
	From, To string   // --from, --to; empty: no bound
	Labels   []string // --label: name=value, added to each series

	match    [][]*labels.Matcher // after Validate
	from, to int64               // milliseconds, inclusive
	labels   labels.Labels
}

// Validate names the flag that cannot work.
func (c *SeriesChoice) Validate(now time.Time) (err error) {
	if c.match, err = parseMatch(c.Match); err != nil {
		return fmt.Errorf("--match=%w", err)
	}
	c.from, c.to = math.MinInt64, math.MaxInt64
	if c.From != "" {
		if c.from, err = parseTime(c.From, now); err != nil {
			return fmt.Errorf("--from=%s: %w", c.From, err)
		}
	}
	if c.To != "" {
		if c.to, err = parseTime(c.To, now); err != nil {
			return fmt.Errorf("--to=%s: %w", c.To, err)
		}
	}
	if c.from > c.to {
		return fmt.Errorf("--to=%s: it is before --from=%s", c.To, c.From)
	}
	c.labels, err = parseLabels(c.Labels)
	return err
}

// parseMatch reads selectors of PromQL. An error begins with the one that is wrong.
func parseMatch(all []string) (match [][]*labels.Matcher, err error) {
	p := parser.NewParser(parser.Options{})
	for _, text := range all {
		ms, err := p.ParseMetricSelector(text)
		if err == nil {
			err = pathlabel.Refuse(ms)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		match = append(match, ms)
	}
	return match, nil
}

// parseTime reads a time of RFC 3339, or one of OpenTSDB's queries.
func parseTime(text string, now time.Time) (int64, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMilli(), nil
	}
	return query.ParseTime(text, time.UTC, now)
}

// whatIsChosen names series and their time, for a state.
func whatIsChosen(match []string, from, to string) string {
	text := "all series"
	if len(match) > 0 {
		text = strings.Join(match, " ")
	}
	if from != "" {
		text += " from " + from
	}
	if to != "" {
		text += " to " + to
	}
	return text
}

// what names what is chosen, for a state.
func (c *SeriesChoice) what() string {
	text := whatIsChosen(c.Match, c.From, c.To)
	if len(c.Labels) > 0 {
		text += " with " + strings.Join(c.Labels, " ")
	}
	return text
}

// A columnsStore makes a batch durable, and returns when it is. An *appendable.RefusedError tells what
// can never be; the rest is durable.
type columnsStore func(ctx context.Context, b *columns.Batch) error

// appendable returns what stores batches of labelled samples.
func (a *Adapter) appendable() *appendable.Appendable {
	w := &a.o.Prometheus.Write
	return appendable.New(appendable.Options{
		SeriesBytes: w.SeriesBytes, SeriesCache: a.o.SeriesCache, Future: w.Future, Appender: a.store, Metadata: a.store.Documents(),
		Names: a.names, Now: a.o.Now,
	})
}

// importedColumns is the answer to a batch.
type importedColumns struct {
	Samples int                      `json:"samples"` // that are durable
	Refused *appendable.RefusedError `json:"refused,omitempty"`
}

// columns stores a batch by way of a running adapter.
func (r remoteImport) columns(ctx context.Context, b *columns.Batch) error {
	req, err := adapterRequest(ctx, http.MethodPost, r.base, importColumnsPath, bytes.NewReader(b.AppendTo(nil)))
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
func (a *adminAPI) importColumns(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	batch, err := columns.Parse(body)
	if err == nil {
		err = appendable.Check(batch)
	}
	if err != nil {
		reply.BadRequest(w, err)
		return
	}
	stored := importedColumns{Samples: batch.Samples()}
	err = a.columns.Store(r.Context(), batch)
	if refused, ok := errors.AsType[*appendable.RefusedError](err); ok {
		stored.Refused, err = refused, nil
		stored.Samples -= refused.Samples
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	refused := int64(0)
	if stored.Refused != nil {
		refused = int64(stored.Refused.Series)
	}
	countTransfer(r.Context(), int64(stored.Samples), refused)
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: stored})
}

// storing stores batches of a piece, again while the store fails, and counts what comes of them.
type storing struct {
	again func(ctx context.Context, try func() error) error
	store columnsStore
	tell  func(string) // of what is refused

	refusedSeries, refusedSamples atomic.Int64
}

// give stores a batch, and returns how many of its samples are durable.
func (s *storing) give(ctx context.Context, b *columns.Batch) (samples int64, err error) {
	var refused *appendable.RefusedError
	err = s.again(ctx, func() error {
		err := s.store(ctx, b)
		var ok bool
		switch refused, ok = errors.AsType[*appendable.RefusedError](err); {
		case ok:
			return nil
		case errors.Is(err, storage.ErrInvalid):
			return transfer.FinalError{Err: err}
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	samples = int64(b.Samples())
	if refused != nil {
		samples -= int64(refused.Samples)
		s.refusedSamples.Add(int64(refused.Samples))
		if s.refusedSeries.Add(int64(refused.Series)) < mostRefusedTold {
			s.tell(refused.Error())
		}
	}
	return samples, nil
}

// mostRefusedTold is after how many refused series no others are told.
const mostRefusedTold = 1000

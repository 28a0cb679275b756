package push

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/jsonlines"
	"github.com/tsdbridge/tsdbridge/prometheus/openmetrics"
	"github.com/tsdbridge/tsdbridge/prometheus/vmnative"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
)

// The paths below the API's prefix. All but the first one are those of VictoriaMetrics, which text senders and vmctl call.
const (
	OpenMetricsPath = "/import/openmetrics"
	LinesPath       = "/import"
	PrometheusPath  = "/import/prometheus"
	NativePath      = "/import/native"
)

// Paths returns the paths that are served, below the API's prefix.
func Paths() []string { return []string{OpenMetricsPath, LinesPath, PrometheusPath, NativePath} }

// reader returns what reads the body of a request, by its path.
func (p *pass) reader(path string) func(body io.Reader, r *http.Request, share *writelimits.Share) error {
	switch {
	case strings.HasSuffix(path, LinesPath):
		return p.readLines
	case strings.HasSuffix(path, PrometheusPath):
		return p.readPrometheus
	case strings.HasSuffix(path, NativePath):
		return p.readNative
	}
	return func(body io.Reader, r *http.Request, _ *writelimits.Share) error { return p.read(body, r) }
}

// readPrometheus reads Prometheus' text format as VictoriaMetrics does. The parameter timestamp is the time of samples
// without one, in milliseconds.
func (p *pass) readPrometheus(body io.Reader, r *http.Request, _ *writelimits.Share) error {
	if given := r.URL.Query().Get("timestamp"); given != "" {
		at, err := strconv.ParseInt(given, 10, 64)
		if err != nil {
			return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("timestamp=%.40q: want milliseconds", given))
		}
		p.now = at
	}
	p.silent, p.guessSeconds = true, true
	return p.readText(body, openmetrics.Text)
}

// series adds samples of a series.
func (p *pass) series(ls labels.Labels, times []int64, values []float64) error {
	ls = p.labelled(ls)
	ref := p.columns.Series(ls)
	for i, at := range times {
		p.columns.Points.Add(ref, at, values[i])
	}
	p.pending += len(times)
	if p.held += int(ls.ByteSize()); p.pending >= batchSamples || p.held >= batchBytes {
		return p.storeColumns()
	}
	return nil
}

// storeColumns makes the samples of columns durable.
func (p *pass) storeColumns() error {
	if p.columns.Empty() {
		return nil
	}
	err := p.h.o.Appendable.Store(p.ctx(), &p.columns)
	p.columns.Reset()
	return p.settle(err)
}

// ended stores the last samples, whatever ended the reading of a body.
func (p *pass) ended(err error) error {
	if stored := p.storeColumns(); err == nil {
		err = stored
	}
	own := httpapi.Error{}
	if err != nil && p.failed == nil && !errors.As(err, &own) {
		err = badBody(err)
	}
	return err
}

// readLines reads lines of JSON.
func (p *pass) readLines(body io.Reader, _ *http.Request, share *writelimits.Share) error {
	p.silent = true
	l := &lines{from: bufio.NewReaderSize(body, detectBytes), share: share}
	for n := 1; ; n++ {
		text, err := l.next()
		switch {
		case errors.Is(err, errLongLine):
			err = p.refuse(n, string(text), err)
		case errors.Is(err, io.EOF):
			return p.ended(nil)
		case err == nil && len(text) > 0:
			err = p.line(n, text)
		}
		if err != nil {
			return p.ended(err)
		}
	}
}

// line adds the samples of a line of JSON.
func (p *pass) line(n int, text []byte) error {
	l, err := jsonlines.Parse(text)
	if err != nil {
		return p.refuse(n, httpapi.Cut(string(text), shownLine), err)
	}
	return p.series(l.Labels, l.Times, l.Values)
}

// shownLine is how many bytes of a bad line of JSON are kept.
const shownLine = 1 << 10

// readNative reads a native export of VictoriaMetrics.
func (p *pass) readNative(body io.Reader, _ *http.Request, _ *writelimits.Share) error {
	p.silent = true
	r, err := vmnative.NewReader(body)
	if err != nil {
		return p.ended(err)
	}
	defer r.Close()
	for {
		b, err := r.Next()
		bad, isBad := errors.AsType[*vmnative.BadBlockError](err)
		switch {
		case errors.Is(err, io.EOF):
			return p.ended(nil)
		case isBad:
			err = p.refuse(bad.Nth, "a block", bad.Err)
		case err == nil:
			err = p.series(b.Labels, b.Times, b.Values)
		}
		if err != nil {
			return p.ended(err)
		}
	}
}

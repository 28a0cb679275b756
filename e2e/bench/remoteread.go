package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// everything matches all series that have a name.
var everything = []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "__name__", Value: ".+"}}

// readRequest returns the body of a request for unstreamed samples of the time between from and to,
// both inclusive.
func readRequest(from, to time.Time, matchers []*prompb.LabelMatcher) ([]byte, error) {
	raw, err := (&prompb.ReadRequest{
		Queries: []*prompb.Query{{StartTimestampMs: from.UnixMilli(), EndTimestampMs: to.UnixMilli(), Matchers: matchers}},
	}).Marshal()
	return snappy.Encode(nil, raw), err
}

// remoteRead sends such a body and returns the compressed answer.
func (s *server) remoteRead(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.http+"/api/v1/read", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{
		"Content-Encoding": {"snappy"}, "Content-Type": {"application/x-protobuf"}, "X-Prometheus-Remote-Read-Version": {"0.1.0"},
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("remote read: %s: %.300s", resp.Status, answer)
	}
	return answer, err
}

func parseRead(answer []byte) ([]*prompb.TimeSeries, error) {
	raw, err := snappy.Decode(nil, answer)
	if err != nil {
		return nil, err
	}
	var r prompb.ReadResponse
	if err := r.Unmarshal(raw); err != nil {
		return nil, err
	}
	if len(r.Results) != 1 {
		return nil, fmt.Errorf("%d results of one query", len(r.Results))
	}
	return r.Results[0].Timeseries, nil
}

// scan calls f with all stored samples from from until before to. It reads them in several
// requests, so a series may come several times.
func (s *server) scan(ctx context.Context, from, to time.Time, piece time.Duration, f func(*prompb.TimeSeries)) error {
	for from.Before(to) {
		next := from.Add(piece)
		if next.After(to) {
			next = to
		}
		body, err := readRequest(from, next.Add(-time.Millisecond), everything)
		if err != nil {
			return err
		}
		answer, err := s.remoteRead(ctx, body)
		if err != nil {
			return err
		}
		series, err := parseRead(answer)
		if err != nil {
			return err
		}
		for _, one := range series {
			f(one)
		}
		from = next
	}
	return nil
}

// countByReading is program.count of servers with remote read. A histogram counts once.
func countByReading(ctx context.Context, s *server, shape load.Shape) (n int, err error) {
	parts := regexp.MustCompile("^(?:" + countedTwice + ")$")
	err = s.scan(ctx, shape.Start(), shape.End, time.Hour, func(t *prompb.TimeSeries) {
		if !parts.MatchString(nameOf(t)) {
			n += len(t.Samples) + len(t.Histograms)
		}
	})
	return n, err
}

// countedTwice matches what servers make of OTLP in addition to a series for each point.
const countedTwice = "(?:" + load.ExplicitMetric + "|" + load.ExponentialMetric + ")_(?:bucket|sum)|target_info"

func nameOf(t *prompb.TimeSeries) string {
	for _, l := range t.Labels {
		if l.Name == model.MetricNameLabel {
			return l.Value
		}
	}
	return ""
}

// countByQuery is program.count of VictoriaMetrics, where count_over_time keeps series apart that
// differ only by their names.
func countByQuery(ctx context.Context, s *server, shape load.Shape) (int, error) {
	// A range excludes its start and includes its end; a shape includes its start and excludes its
	// end.
	expr := fmt.Sprintf(`sum(count_over_time({__name__=~".+",__name__!~"%s"}[%dms]))`, countedTwice, shape.End.Sub(shape.Start()).Milliseconds())
	v, err := s.instant(ctx, expr, shape.End.Add(-time.Millisecond))
	if err != nil || len(v) == 0 {
		return 0, err
	}
	return int(v[0].value), nil
}

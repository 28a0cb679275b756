package read

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Limits of a remote read request that no option changes. Prometheus sends one query of a few
// matchers.
const (
	maxBody     = 4 << 20 // bytes, as sent and decompressed
	maxQueries  = 100
	maxMatchers = 200 // of a query
)

// Field numbers of prometheus.ReadRequest and prometheus.Query (prompb/remote.proto).
const (
	requestQueries = 1
	queryMatchers  = 3
)

// decodeRead reads the request. It refuses a request that cannot be answered completely.
func decodeRead(w http.ResponseWriter, r *http.Request) (*prompb.ReadRequest, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, httpapi.WithStatus(http.StatusMethodNotAllowed, errors.New("remote read is a POST"))
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "snappy" {
		return nil, httpapi.WithStatus(http.StatusUnsupportedMediaType, fmt.Errorf("content encoding %q: only snappy is known", enc))
	}
	body, err := readMessage(w, r)
	if err != nil {
		return nil, err
	}
	if err := checkRequest(body); err != nil {
		return nil, badRead(err)
	}
	req := new(prompb.ReadRequest)
	if err := req.Unmarshal(body); err != nil {
		return nil, badRead(err)
	}
	if _, err := remote.NegotiateResponseType(req.AcceptedResponseTypes); err != nil {
		return nil, httpapi.WithStatus(http.StatusBadRequest, err)
	}
	return req, nil
}

func badRead(err error) error {
	return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("read request: %w", err))
}

// readMessage reads and decompresses the body.
func readMessage(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	compressed, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, httpapi.WithStatus(http.StatusRequestEntityTooLarge, err)
	case errors.Is(err, query.ErrBusy), errors.Is(err, query.ErrTooLarge):
		return nil, httpapi.QueryError(r.Context(), "read the request", err)
	case err != nil:
		return nil, badRead(err)
	}
	n, err := snappy.DecodedLen(compressed)
	if err != nil {
		return nil, badRead(fmt.Errorf("snappy: %w", err))
	}
	if n > maxBody {
		return nil, badRead(fmt.Errorf("snappy: decoded length %d exceeds the limit of %d", n, maxBody))
	}
	if err := query.AccountOf(r.Context()).Take(int64(n) * query.BodyCost); err != nil {
		return nil, httpapi.QueryError(r.Context(), "read the request", err)
	}
	body, err := snappy.Decode(nil, compressed)
	if err != nil {
		return nil, badRead(fmt.Errorf("snappy: %w", err))
	}
	return body, nil
}

// checkRequest counts queries and matchers before memory is allocated for them. The decoder reports
// malformed messages.
func checkRequest(b []byte) error {
	queries := 0
	for query := range messages(b, requestQueries) {
		if queries++; queries > maxQueries {
			return fmt.Errorf("%w: more than %d queries", storage.ErrLimit, maxQueries)
		}
		matchers := 0
		for range messages(query, queryMatchers) {
			if matchers++; matchers > maxMatchers {
				return fmt.Errorf("%w: a query of more than %d matchers", storage.ErrLimit, maxMatchers)
			}
		}
	}
	return nil
}

// messages visits the messages in one field of a message. It stops where the message is malformed.
func messages(b []byte, wanted int32) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		f := wire.FieldsOf(b)
		for f.Next() {
			if f.Number != wanted || f.Type != wire.Bytes {
				f.Skip()
				continue
			}
			if m := f.Bytes(); m != nil && !yield(m) {
				return
			}
		}
	}
}

// checkRegexps limits the compiled size of the regular expressions of all queries.
func checkRegexps(req *prompb.ReadRequest) error {
	var patterns []string
	for _, q := range req.Queries {
		for _, m := range q.Matchers {
			if m.Type == prompb.LabelMatcher_RE || m.Type == prompb.LabelMatcher_NRE {
				patterns = append(patterns, m.Value)
			}
		}
	}
	if err := limits.Regexps(patterns...); err != nil {
		return badRead(err)
	}
	return nil
}

// readMatchers returns the matchers of a query. A query without matchers selects nothing, as in
// Prometheus' storage.
func readMatchers(query *prompb.Query) ([]*labels.Matcher, error) {
	matchers, err := remote.FromLabelMatchers(query.Matchers)
	if err != nil {
		return nil, httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("matchers: %w", err))
	}
	return matchers, nil
}

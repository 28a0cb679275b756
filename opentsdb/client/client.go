// Package client asks a server of OpenTSDB's HTTP API, a TSD or an adapter, and reads its answers while they
// come. It holds one series of an answer at a time. It knows no store.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// A Client asks one server. It is safe for concurrent use.
type Client struct {
	URL  string // such as http://tsd:4242; a path in it comes before those of the API
	HTTP *http.Client
}

// A StatusError is an answer that is no success.
type StatusError struct {
	Status  int
	Message string // of the server
}

// Error returns both.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), e.Message)
}

// Bounds of what is read of a server, in bytes.
const (
	maxError = 64 << 10  // an error
	maxSmall = 64 << 20  // an answer that is read as a whole
	maxPiece = 512 << 20 // a series of an answer
)

// A Series is a series of an answer to a query.
type Series struct {
	Metric        string            `json:"metric"`
	Tags          map[string]string `json:"tags"`
	AggregateTags []string          `json:"aggregateTags"`
	TSUIDs        []string          `json:"tsuids"`
	Points        Points            `json:"dps"`
	Summary       json.RawMessage   `json:"statsSummary"` // of what is no series
}

// Query asks /api/query with a body of JSON, and calls each for the series of the answer, in their order. The
// series is valid until each returns.
func (c Client) Query(ctx context.Context, body []byte, each func(*Series) error) error {
	return c.series(ctx, http.MethodPost, "/api/query", body, each)
}

// QueryURL is Query with the parameters of a URL.
func (c Client) QueryURL(ctx context.Context, parameters string, each func(*Series) error) error {
	return c.series(ctx, http.MethodGet, "/api/query?"+parameters, nil, each)
}

func (c Client) series(ctx context.Context, method, path string, body []byte, each func(*Series) error) error {
	return c.ask(ctx, method, path, body, func(answer io.Reader) error {
		s := new(Series)
		return elements(answer, "", func(decode func(any) error) error {
			*s = Series{Points: s.Points[:0]}
			if err := decode(s); err != nil || s.Summary != nil {
				return err
			}
			return each(s)
		})
	})
}

// A Found is a series in the answer to a lookup.
type Found struct {
	TSUID  string            `json:"tsuid"`
	Metric string            `json:"metric"`
	Tags   map[string]string `json:"tags"`
}

// Lookup asks /api/search/lookup with a body of JSON.
func (c Client) Lookup(ctx context.Context, body []byte, each func(Found) error) error {
	return c.ask(ctx, http.MethodPost, "/api/search/lookup", body, func(answer io.Reader) error {
		return elements(answer, "results", func(decode func(any) error) error {
			var f Found
			if err := decode(&f); err != nil {
				return err
			}
			return each(f)
		})
	})
}

// Get reads an answer of JSON as a whole.
func (c Client) Get(ctx context.Context, path string, parameters url.Values, to any) error {
	return c.ask(ctx, http.MethodGet, path+"?"+parameters.Encode(), nil, func(answer io.Reader) error {
		return json.NewDecoder(io.LimitReader(answer, maxSmall)).Decode(to)
	})
}

// ask sends a request and has read read the answer if it is a success.
func (c Client) ask(ctx context.Context, method, path string, body []byte, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // it explains the status
		return &StatusError{resp.StatusCode, message(text)}
	}
	if err := read(resp.Body); err != nil {
		return fmt.Errorf("the answer of %s: %w", req.URL.Redacted(), err)
	}
	return nil
}

// message returns the message of an error in JSON, else its text.
func message(body []byte) string {
	var answer struct {
		Error struct{ Message, Details string }
	}
	if json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		if d := answer.Error.Details; d != "" && d != answer.Error.Message {
			return answer.Error.Message + ": " + d
		}
		return answer.Error.Message
	}
	return strings.ToValidUTF8(string(bytes.TrimSpace(body[:min(len(body), 500)])), "?")
}

// errLong ends the reading of an answer.
var errLong = errors.New("a part of it is too long")

// pieces bounds what is read between two calls of next.
type pieces struct {
	io.Reader
	left int64
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, errLong
	}
	n, err := p.Reader.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	return n, err
}

// elements calls each for the elements of an array in JSON: of the answer or, with a name, of that member of it.
func elements(answer io.Reader, name string, each func(decode func(any) error) error) error {
	from := &pieces{answer, maxPiece}
	d := json.NewDecoder(from)
	if name != "" {
		if err := member(d, name); err != nil {
			return err
		}
	}
	if err := delimiter(d, '['); err != nil {
		return err
	}
	for d.More() {
		if err := each(d.Decode); err != nil {
			return err
		}
		from.left = maxPiece
	}
	if err := delimiter(d, ']'); err != nil {
		return err
	}
	for name != "" { // what follows the member, to see that the answer is whole
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// member goes to the value of a member of an object.
func member(d *json.Decoder, name string) error {
	if err := delimiter(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key == name {
			return nil
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return fmt.Errorf("it has no %s", name)
}

func delimiter(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("%v where %v should be", got, want)
	}
	return nil
}

package admin

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

	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// Call calls the admin API of a running adapter and decodes the data of its answer into data.
func Call(ctx context.Context, base, path string, data any) error {
	req, err := Request(ctx, http.MethodPost, base, path, http.NoBody)
	if err != nil {
		return err
	}
	return answerOf(req, data)
}

// Request returns a request to a running adapter. A bad URL is a pipeline.FinalError.
func Request(ctx context.Context, method, base, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+path, body)
	if err != nil {
		return nil, pipeline.FinalError{Err: fmt.Errorf("--adapter-url: %w", err)}
	}
	if id, ok := ctx.Value(transferIDKey{}).(string); ok {
		req.Header.Set(transferHeader, id)
	}
	return req, nil
}

// jsonRequest returns a POST request to a running adapter with a body of JSON.
func jsonRequest(ctx context.Context, base, path string, about any) (*http.Request, error) {
	body, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	req, err := Request(ctx, http.MethodPost, base, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// askJSON sends a request with a body of JSON to a running adapter and decodes the data of its answer. A
// refusal that stays is a pipeline.FinalError.
func askJSON(ctx context.Context, base, path string, about, data any) error {
	req, err := jsonRequest(ctx, base, path, about)
	if err != nil {
		return err
	}
	return finalRefusal(answerOf(req, data))
}

// openJSON is askJSON for an answer that is read as it comes. The caller closes its body.
func openJSON(ctx context.Context, base, path string, about any) (*http.Response, error) {
	req, err := jsonRequest(ctx, base, path, about)
	if err != nil {
		return nil, err
	}
	resp, err := openAnswer(req)
	return resp, finalRefusal(err)
}

// ask sends a request to a running adapter. The caller closes the body of the answer.
func ask(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the adapter that runs (--adapter-url): %w", err)
	}
	return resp, nil
}

// openAnswer sends a request to a running adapter whose answer is read as it comes. The caller closes
// its body. A refusal is a refusedError.
func openAnswer(req *http.Request) (*http.Response, error) {
	resp, err := ask(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, MaxRefusalBytes)) // it explains the status
		return nil, refusedBy(req.URL, resp, ReasonOf(text))
	}
	return resp, nil
}

// MaxRefusalBytes bounds the text of a refusal.
const MaxRefusalBytes = 1 << 16

// answerOf sends a request to a running adapter and decodes the data of its answer.
func answerOf(req *http.Request, data any) error {
	resp, err := ask(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", req.URL.Redacted(), err)
	}
	answer := struct {
		Data any `json:"data"`
	}{data}
	// An answer that is not JSON comes from another server. Its text identifies that.
	if err := json.Unmarshal(body, &answer); err != nil || resp.StatusCode != http.StatusOK {
		return refusedBy(req.URL, resp, ReasonOf(body))
	}
	return nil
}

// A refusedError is an answer of a running adapter that is not a success.
type refusedError struct {
	status int
	error
}

// Unwrap returns the error.
func (e *refusedError) Unwrap() error { return e.error }

// Get sends a request without a body to a running adapter. The caller closes the body of the
// answer.
func Get(ctx context.Context, method, base, path string) (*http.Response, error) {
	req, err := Request(ctx, method, base, path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return ask(req)
}

// refusedBy returns the error of a refusal, with advice for the usual reason.
func refusedBy(asked *url.URL, answer *http.Response, reason string) error {
	const advice = "the adapter runs without --web.enable-admin-api: run it with that, or stop it"
	switch {
	case reason == "404 page not found", strings.Contains(reason, "without --web.enable-admin-api"):
		reason = advice
	case strings.Contains(reason, "admin APIs disabled"), answer.StatusCode == http.StatusNotFound:
		reason += " (" + advice + ")"
	}
	return &refusedError{answer.StatusCode, fmt.Errorf("%s answers %s: %s", asked.Redacted(), answer.Status, reason)}
}

// finalRefusal tells refusals that stay from those that pass.
func finalRefusal(err error) error {
	if refusal, ok := errors.AsType[*refusedError](err); ok && refusal.status != http.StatusServiceUnavailable && refusal.status != http.StatusTooManyRequests {
		return pipeline.FinalError{Err: err}
	}
	return err
}

// ReasonOf returns the error of an answer in JSON, else its text.
func ReasonOf(body []byte) string {
	var answer struct{ Error string }
	if json.Unmarshal(body, &answer) == nil && answer.Error != "" {
		return answer.Error
	}
	return strings.TrimSpace(httpapi.Cut(string(body), 200))
}

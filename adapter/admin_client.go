package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
)

// adminCall calls the admin API of a running adapter and decodes the data of its answer into data.
func adminCall(ctx context.Context, base, path string, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base, "/")+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("--adapter-url: %w", err)
	}
	return answerOf(req, data)
}

// answerOf sends a request to a running adapter and decodes the data of its answer.
func answerOf(req *http.Request, data any) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the adapter that runs (--adapter-url): %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", req.URL.Redacted(), err)
	}
	answer := struct {
		Data  any    `json:"data"`
		Error string `json:"error"`
	}{Data: data}
	// An answer that is not JSON comes from another server. Its text identifies that.
	if err := json.Unmarshal(body, &answer); err != nil || resp.StatusCode != http.StatusOK {
		return &refusedError{resp.StatusCode, refused(req.URL, resp.Status, answer.Error, body)}
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

// callAdapter sends a request without a body to a running adapter. The caller closes the body of the
// answer.
func callAdapter(ctx context.Context, method, base, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("--adapter-url: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the adapter that runs (--adapter-url): %w", err)
	}
	return resp, nil
}

// refused returns the error of a refusal, with advice for the usual reason.
func refused(asked *url.URL, status, reason string, body []byte) error {
	if reason == "" {
		reason = strings.TrimSpace(reply.Cut(string(body), 200))
	}
	if strings.Contains(reason, "admin APIs disabled") || strings.HasPrefix(status, "404") {
		reason += " (the adapter runs without --web.enable-admin-api: run it with that, or stop it)"
	}
	return fmt.Errorf("%s answers %s: %s", asked.Redacted(), status, reason)
}

// adminURL returns the URL of the adapter with these options on this machine.
func (o Options) adminURL(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	host, port, err := net.SplitHostPort(o.ListenAddress)
	if err != nil || port == "0" {
		return "", errors.New("the store is in use, and --web.listen-address does not say where the adapter is: give --adapter-url")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if o.WebConfigFile != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

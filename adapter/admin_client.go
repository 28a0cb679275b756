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
	resp, err := callAdapter(ctx, http.MethodPost, base, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	asked := resp.Request.URL
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", asked.Redacted(), err)
	}
	reply := struct {
		Data  any    `json:"data"`
		Error string `json:"error"`
	}{Data: data}
	// An answer that is not JSON comes from another server. Its text identifies that.
	if err := json.Unmarshal(body, &reply); err != nil || resp.StatusCode != http.StatusOK {
		return refused(asked, resp.Status, reply.Error, body)
	}
	return nil
}

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

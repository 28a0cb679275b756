package ask

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
)

// HealthOptions are the flags of the command health.
type HealthOptions struct {
	URL     string        // --adapter-url; empty: from --web.listen-address
	Live    bool          // --live: it suffices that the process answers
	Timeout time.Duration // --timeout
}

// Health asks a running adapter whether it is ready, and prints its answer. An error means: it is not.
func Health(ctx context.Context, o adapter.Options, h HealthOptions, out io.Writer) error {
	base := h.URL
	if base == "" {
		own, err := session.OwnURL(o)
		if err != nil {
			return err
		}
		base = own
	}
	path := "/-/ready"
	if h.Live {
		path = "/-/healthy"
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	req, err := admin.Request(ctx, http.MethodGet, base, path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := healthClient(h.URL == "").Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, admin.MaxRefusalBytes))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusUnauthorized && h.Live:
		fmt.Fprintln(out, "tsdbridge answers, and asks for a password.")
		return nil
	case resp.StatusCode == http.StatusUnauthorized:
		return errors.New("it asks for a password: give --adapter-url=http://USER:PASSWORD@HOST:PORT, or ask with --live")
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	_, err = out.Write(text)
	return err
}

// healthClient returns the client of a check. A certificate is rarely made out to localhost. The check of
// the own machine sends no secret, and takes any.
func healthClient(own bool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: own},
		DisableKeepAlives: true,
	}}
}

// HealthCommand adds "health" to a command line.
func HealthCommand(s *command.Set) {
	var h HealthOptions
	run := func(ctx context.Context, o adapter.Options, console command.Console) error {
		if err := Health(ctx, o, h, console.Out); err != nil {
			fmt.Fprintln(console.Err, "tsdbridge health:", err)
			return &command.ExitError{Code: 1}
		}
		return nil
	}
	c := s.Add(s.App, "health", run, "Ask a running adapter whether it is ready, for health checks of containers. The exit code is 0 if it is, else 1. Give it the --config.file of the adapter, or its --web.listen-address.")
	c.Flag("adapter-url", "URL of the running adapter. Default: the one on this machine at --web.listen-address.").PlaceHolder("URL").StringVar(&h.URL)
	c.Flag("live", "It suffices that the process answers: its store may be away.").BoolVar(&h.Live)
	c.Flag("timeout", "How long the answer may take.").Default((5 * time.Second).String()).DurationVar(&h.Timeout)
}

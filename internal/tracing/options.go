package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// Options say where spans go.
type Options struct {
	// Endpoint is --tracing.endpoint: host:port of OTLP over gRPC, or a URL http(s)://host:port/path of
	// OTLP over HTTP; empty: there are no spans.
	Endpoint string
	// Fraction is --tracing.sampling-fraction: of the requests that come without a decision.
	Fraction float64
	// ClientTraces is --tracing.client-traces-per-second: how many requests a second are traced because
	// their client says so; the others have the fraction.
	ClientTraces float64
	// Insecure is --tracing.insecure: gRPC without TLS.
	Insecure bool
	// CAFile is --tracing.tls-ca-file: who signs the collector's certificate; empty: the system's.
	CAFile string
	// Headers is --tracing.header: NAME=VALUE of each request. The values are secrets.
	Headers []string
	Version string
	Logger  *slog.Logger
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	if !(o.Fraction >= 0 && o.Fraction <= 1) {
		return errors.New("--tracing.sampling-fraction must be between 0 and 1")
	}
	if !(o.ClientTraces >= 0) {
		return errors.New("--tracing.client-traces-per-second must not be negative")
	}
	if o.Endpoint == "" {
		return nil
	}
	if !o.reachable() {
		return fmt.Errorf("--tracing.endpoint=%s: want host:port for gRPC, or http(s)://host:port/v1/traces", o.Endpoint)
	}
	if _, err := o.headers(); err != nil {
		return err
	}
	_, err := o.tls()
	return err
}

// reachable reports whether the endpoint has the form of a URL, or of host:port.
func (o Options) reachable() bool {
	if strings.Contains(o.Endpoint, "://") {
		u, err := url.Parse(o.Endpoint)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
	}
	_, port, err := net.SplitHostPort(o.Endpoint)
	return err == nil && port != ""
}

// headers reads the list of headers. Errors do not have the values.
func (o Options) headers() (map[string]string, error) {
	all := map[string]string{}
	for i, header := range o.Headers {
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--tracing.header: the %d. one is not NAME=VALUE", i+1)
		}
		all[name] = value
	}
	return all, nil
}

func (o Options) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile == "" {
		return config, nil
	}
	text, err := fsutil.ReadRegular(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--tracing.tls-ca-file: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--tracing.tls-ca-file=%s has no certificate", o.CAFile)
	}
	return config, nil
}

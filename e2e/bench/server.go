package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A program is a server that can be started, each time without data.
type program struct {
	name, path, version string
	// args returns its flags: data is the directory of its data, a the addresses to listen on.
	args func(data string, a addresses) []string
	// write is the path of remote write.
	write string
	// otlp is the path of metrics of OpenTelemetry.
	otlp string
	// put is the path of OpenTSDB's HTTP put.
	put string
	// one reports that telnet and HTTP put share a port, as in a TSD.
	one bool
	// ready is the path that answers 200 when the server can be queried.
	ready string
	// count returns how many samples of the shape are stored.
	count func(ctx context.Context, s *server, shape load.Shape) (int, error)
	// settle compacts the files completely and returns their bytes; nil: they are counted as they
	// are.
	settle func(ctx context.Context, s *server) (int64, error)
	// compact does the same after the server has stopped.
	compact func(ctx context.Context, s *server) error
}

// addresses of a server, host:port.
type addresses struct{ http, carbon, telnet, put string }

// A server is a running program.
type server struct {
	program
	addresses
	dir    string // holds data and log
	proc   *process
	pid    atomic.Int64 // of proc
	client *http.Client
}

// start runs a program in dir and waits until it can be queried. It keeps data of an earlier start.
func (p program) start(ctx context.Context, dir string) (*server, error) {
	var last error
	// A port that was free when it was chosen may be taken before the server binds it: choose
	// again.
	for range 3 {
		a, err := freeAddresses()
		if err != nil {
			return nil, err
		}
		s := &server{program: p, addresses: a, dir: dir, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
		if last = s.run(ctx); last == nil {
			return s, nil
		}
		if !errors.Is(last, errEnded) {
			break
		}
	}
	return nil, last
}

// run starts the process, again after it has ended, on the same addresses and data.
func (s *server) run(ctx context.Context) error {
	if err := os.MkdirAll(s.data(), 0o755); err != nil {
		return err
	}
	var err error
	if s.proc, err = spawn(s.dir, s.path, s.args(s.data(), s.addresses)...); err != nil {
		return err
	}
	s.pid.Store(int64(s.proc.pid()))
	const waitTimeout = 2 * time.Minute
	if err = until(ctx, waitTimeout, s.isReady); err != nil {
		s.proc.kill()
		return fmt.Errorf("%s ready: %w", s.name, err)
	}
	return nil
}

func (s *server) isReady(ctx context.Context) error {
	if err := s.proc.ended(); err != nil {
		return err
	}
	_, err := s.get(ctx, s.ready, nil)
	return err
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// target returns where the server takes a format.
func (s *server) target(f load.Format) load.Target {
	switch f {
	case load.Carbon, load.CarbonTagged:
		return load.Target{Addr: s.carbon}
	case load.Telnet:
		return load.Target{Addr: s.telnet}
	case load.Put:
		if s.one {
			return load.Target{URL: "http://" + s.telnet + s.program.put}
		}
		return load.Target{URL: "http://" + s.addresses.put + s.program.put}
	case load.OTLP:
		return load.Target{URL: "http://" + s.http + s.otlp}
	default:
		return load.Target{URL: "http://" + s.http + s.write}
	}
}

// get sends a GET request and returns the body of a 200.
func (s *server) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	target := "http://" + s.http + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return s.do(ctx, http.MethodGet, target)
}

func (s *server) do(ctx context.Context, method, target string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %.300s", method, target, resp.Status, body)
	}
	return body, err
}

// usage of the server's process.
func (s *server) usage() usage { return usageOf(int(s.pid.Load())) }

// quiet waits until the server has used almost no CPU for two seconds.
func (s *server) quiet(ctx context.Context) error { return quiet(ctx, s.usage) }

func quiet(ctx context.Context, of func() usage) error {
	const (
		limit  = 3 * time.Minute
		window = 2 * time.Second
		little = 0.03 // of a core
	)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for last := of().cpu; ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("not quiet within %v: %w", limit, ctx.Err())
		case <-time.After(window):
		}
		now := of().cpu
		if now-last < little*window.Seconds() {
			return nil
		}
		last = now
	}
}

// freeAddresses returns ports of the loopback interface that no process uses at the moment.
func freeAddresses() (addresses, error) {
	var a addresses
	for _, to := range []*string{&a.http, &a.carbon, &a.telnet, &a.put} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return a, err
		}
		defer l.Close()
		*to = l.Addr().String()
	}
	return a, nil
}

// bytesIn returns the sizes of all files below a directory.
func bytesIn(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed while we look
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum, err
}

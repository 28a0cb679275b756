package cluster

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

const (
	// readyTimeout is for a cold JVM on a busy machine: HBase needs 10 s on an idle one, 17 s with
	// a write-ahead log to replay.
	readyTimeout = 3 * time.Minute
	pollEvery    = 200 * time.Millisecond
)

// waitUntil calls ready until it succeeds, the process has ended or time is up.
func waitUntil(ctx context.Context, p *process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.died()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last answer: %w)%s", p.name, ctx.Err(), err, p.tail())
		case <-time.After(pollEvery):
		}
	}
}

// freePorts returns n ports of the loopback interface that nothing listens on at the moment.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at the end, so that no port is handed out twice
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// listening returns an error unless a process accepts connections at the address.
func listening(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

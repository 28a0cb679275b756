package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
)

// ready asks HBase for what every client needs: ZooKeeper, a master that lists tables and a region
// server that reads hbase:meta.
func (c *Cluster) ready(ctx context.Context) error {
	if err := listening(ctx, c.ZooKeeper()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := listTables(ctx, c.ZooKeeper()); err != nil {
		return err
	}
	return readMeta(ctx, c.ZooKeeper())
}

func listTables(ctx context.Context, zk string) error {
	// An admin client of this gohbase cannot be closed (Close panics), so its connections are
	// closed from below.
	var conns connections
	defer conns.close()
	admin := gohbase.NewAdminClient(zk, gohbase.Logger(silent()), gohbase.RegionDialer(conns.dial))
	list, err := hrpc.NewListTableNames(ctx)
	if err != nil {
		return err
	}
	_, err = admin.ListTableNames(list)
	return err
}

func readMeta(ctx context.Context, zk string) error {
	client := gohbase.NewClient(zk, gohbase.Logger(silent()))
	defer client.Close()
	scan, err := hrpc.NewScan(ctx, []byte("hbase:meta"), hrpc.NumberOfRows(1))
	if err != nil {
		return err
	}
	rows := client.Scan(scan)
	defer rows.Close()
	if _, err := rows.Next(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// connections remembers what it dialled.
type connections struct {
	mu   sync.Mutex // guards open
	open []net.Conn
}

func (c *connections) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open = append(c.open, conn)
	}
	return conn, err
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		conn.Close()
	}
}

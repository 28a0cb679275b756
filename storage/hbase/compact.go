package hbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// compactTimeout is for one region: writing to files what it has in memory, and the request of the compaction.
const compactTimeout = time.Minute

// MajorCompact has HBase write to files what it has in memory of a table, and asks it to rewrite these without what was
// deleted. HBase does that by itself, one region after the other; it may take long. It returns how many regions were
// asked. After an error it may be repeated.
func (e *Engine) MajorCompact(ctx context.Context, table string) (regions int, err error) {
	byServer, err := e.regionsByServer(ctx, table)
	if err != nil {
		return 0, fmt.Errorf("list the regions of %s: %w", table, err)
	}
	var errs []error
	for server, names := range byServer {
		n, err := e.compactRegions(ctx, server, names)
		regions += n
		if err != nil {
			errs = append(errs, fmt.Errorf("compact regions of %s on %s: %w", table, server, err))
		}
	}
	return regions, errors.Join(errs...)
}

// regionsByServer returns the names of a table's open regions, by the addresses of their servers.
func (e *Engine) regionsByServer(ctx context.Context, table string) (map[string][]string, error) {
	found := map[string][]string{}
	err := e.eachRegion(ctx, table, false, func(_ []byte, row *kv.Row) error {
		var info pb.RegionInfo
		server := ""
		for _, c := range row.Cells {
			switch string(c.Qualifier) {
			case "regioninfo":
				if err := proto.Unmarshal([]byte(strings.TrimPrefix(string(c.Value), "PBUF")), &info); err != nil {
					return fmt.Errorf("region %q: %w", row.Key, err)
				}
			case "server":
				server = string(c.Value)
			}
		}
		if server != "" && !info.GetOffline() && !info.GetSplit() {
			found[server] = append(found[server], string(row.Key))
		}
		return nil
	})
	return found, err
}

// compactRegions asks a server for compactions, and goes on after a region that it refuses.
func (e *Engine) compactRegions(ctx context.Context, server string, names []string) (asked int, err error) {
	client := region.NewClient(server, "AdminService", 1, 0, e.o.User, compactTimeout, nil, nil, clientLogger(e.o.Logger))
	defer client.Close()
	if err := client.Dial(ctx); err != nil {
		return 0, err
	}
	var errs []error
	for _, name := range names {
		where := &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: []byte(name)}
		// gohbase has no FlushRegionRequest; a CompactRegionRequest with the region alone has the same bytes.
		err := askServer(ctx, client, "FlushRegion", &pb.CompactRegionRequest{Region: where})
		if err == nil {
			err = askServer(ctx, client, "CompactRegion", &pb.CompactRegionRequest{Region: where, Major: new(true)})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("region %q: %w", name, err))
			continue
		}
		asked++
	}
	return asked, errors.Join(errs...)
}

// askServer sends a request of HBase's AdminService, which gohbase has no calls for. The answers say nothing.
func askServer(ctx context.Context, client hrpc.RegionClient, method string, request proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	call := &serverCall{ctx: ctx, method: method, request: request, result: make(chan hrpc.RPCResult, 1)}
	go client.QueueRPC(call)
	select {
	case r := <-call.result:
		if r.Error != nil {
			return fmt.Errorf("%s: %w", method, r.Error)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// A serverCall is a request of the AdminService in the shape that gohbase asks for.
type serverCall struct {
	ctx     context.Context //nolint:containedctx // hrpc.Call has it so
	method  string
	request proto.Message
	region  hrpc.RegionInfo
	result  chan hrpc.RPCResult
}

func (c *serverCall) Table() []byte                    { return nil }
func (c *serverCall) Name() string                     { return c.method }
func (c *serverCall) Key() []byte                      { return nil }
func (c *serverCall) Region() hrpc.RegionInfo          { return c.region }
func (c *serverCall) SetRegion(region hrpc.RegionInfo) { c.region = region }
func (c *serverCall) ToProto() proto.Message           { return c.request }
func (c *serverCall) NewResponse() proto.Message       { return &pb.CompactRegionResponse{} }
func (c *serverCall) ResultChan() chan hrpc.RPCResult  { return c.result }
func (c *serverCall) Description() string              { return c.method }
func (c *serverCall) Context() context.Context         { return c.ctx }

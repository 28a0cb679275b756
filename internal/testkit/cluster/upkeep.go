package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"
)

// Flush writes what HBase has in memory of a table to files.
func (c *Cluster) Flush(ctx context.Context, table string) error {
	return c.eachRegion(ctx, table, func(a *adminClient, where *pb.RegionSpecifier) error {
		// gohbase has no FlushRegionRequest; a CompactRegionRequest with the region alone has the
		// same bytes.
		return a.call(ctx, "FlushRegion", &pb.CompactRegionRequest{Region: where}, &pb.CompactRegionResponse{})
	})
}

// Compact makes a major compaction of a table and returns when it is over. What is only in memory
// stays as it is.
func (c *Cluster) Compact(ctx context.Context, table string) error {
	return c.eachRegion(ctx, table, func(a *adminClient, where *pb.RegionSpecifier) error {
		request := &pb.CompactRegionRequest{Region: where, Major: new(true)}
		if err := a.call(ctx, "CompactRegion", request, &pb.CompactRegionResponse{}); err != nil {
			return err
		}
		for {
			var info pb.GetRegionInfoResponse
			ask := &pb.GetRegionInfoRequest{Region: where, CompactionState: new(true)}
			if err := a.call(ctx, "GetRegionInfo", ask, &info); err != nil || info.GetCompactionState() == pb.GetRegionInfoResponse_NONE {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pollEvery):
			}
		}
	})
}

// eachRegion calls do for each region of a table with a client of the one region server.
func (c *Cluster) eachRegion(ctx context.Context, table string, do func(*adminClient, *pb.RegionSpecifier) error) error {
	names, err := c.regions(ctx, table)
	if err != nil {
		return fmt.Errorf("regions of %s: %w", table, err)
	}
	if len(names) == 0 {
		return fmt.Errorf("table %s has no regions", table)
	}
	a := &adminClient{region.NewClient(loopback(c.ports[2]), "AdminService", 1, 0, "e2e", time.Minute, nil, nil, silent())}
	defer a.server.Close()
	if err := a.server.Dial(ctx); err != nil {
		return err
	}
	for _, name := range names {
		if err := do(a, &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: name}); err != nil {
			return fmt.Errorf("region %s: %w", name, err)
		}
	}
	return nil
}

// regions returns the names of a table's open regions, which are the row keys of hbase:meta.
func (c *Cluster) regions(ctx context.Context, table string) ([][]byte, error) {
	client := gohbase.NewClient(c.ZooKeeper(), gohbase.Logger(silent()))
	defer client.Close()
	// MetaTableAccessor's bounds; the order is not that of bytes
	scan, err := hrpc.NewScanRangeStr(ctx, "hbase:meta", table+",,", table+" ,,")
	if err != nil {
		return nil, err
	}
	rows := client.Scan(scan)
	defer rows.Close()
	var names [][]byte
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		for _, cell := range row.Cells {
			if string(cell.Qualifier) != "regioninfo" {
				continue
			}
			var info pb.RegionInfo
			if err := proto.Unmarshal(cell.Value[len("PBUF"):], &info); err != nil {
				return nil, err
			}
			if !info.GetOffline() && !info.GetSplit() {
				names = append(names, cell.Row)
			}
		}
	}
}

// adminClient sends requests of HBase's AdminService, which gohbase has no calls for.
type adminClient struct{ server hrpc.RegionClient }

func (a *adminClient) call(ctx context.Context, method string, request, response proto.Message) error {
	call := &adminCall{ctx: ctx, method: method, request: request, response: response, result: make(chan hrpc.RPCResult, 1)}
	go a.server.QueueRPC(call)
	select {
	case r := <-call.result:
		if r.Error != nil {
			return fmt.Errorf("%s: %w", method, r.Error)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An adminCall is a request in the shape that gohbase asks for.
type adminCall struct {
	ctx               context.Context // hrpc.Call has it so
	method            string
	request, response proto.Message
	region            hrpc.RegionInfo
	result            chan hrpc.RPCResult
}

func (c *adminCall) Table() []byte                    { return nil }
func (c *adminCall) Name() string                     { return c.method }
func (c *adminCall) Key() []byte                      { return nil }
func (c *adminCall) Region() hrpc.RegionInfo          { return c.region }
func (c *adminCall) SetRegion(region hrpc.RegionInfo) { c.region = region }
func (c *adminCall) ToProto() proto.Message           { return c.request }
func (c *adminCall) NewResponse() proto.Message       { return c.response }
func (c *adminCall) ResultChan() chan hrpc.RPCResult  { return c.result }
func (c *adminCall) Description() string              { return c.method }
func (c *adminCall) Context() context.Context         { return c.ctx }

package hbase

import (
	"context"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// A call is what all requests have in common, in the shape that gohbase asks for. It is sent to the
// region of table that holds key.
type call struct {
	ctx    context.Context //nolint:containedctx // hrpc.Call has it so
	table  []byte
	key    []byte
	region hrpc.RegionInfo
	result chan hrpc.RPCResult
	// block holds the cells of the answer as they came. The goroutine that waits for them decodes
	// them: gohbase has one goroutine for all answers of a server.
	block []byte
}

func newCall(ctx context.Context, table, key []byte) call {
	return call{ctx: ctx, table: table, key: key, result: make(chan hrpc.RPCResult, 1)}
}

func (c *call) Context() context.Context         { return c.ctx }
func (c *call) Table() []byte                    { return c.table }
func (c *call) Key() []byte                      { return c.key }
func (c *call) Region() hrpc.RegionInfo          { return c.region }
func (c *call) SetRegion(region hrpc.RegionInfo) { c.region = region }
func (c *call) ResultChan() chan hrpc.RPCResult  { return c.result }

// DeserializeCellBlocks keeps the cells; the buffer is this answer's alone.
func (c *call) DeserializeCellBlocks(_ proto.Message, cells []byte) (uint32, error) {
	c.block = cells
	return uint32(len(cells)), nil
}

// regionSpecifier names the region that the call goes to.
func (c *call) regionSpecifier() *pb.RegionSpecifier {
	return &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: c.region.Name()}
}

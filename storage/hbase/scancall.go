package hbase

import (
	"context"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// A scanCall is one request of a scan.
type scanCall struct {
	call
	request *pb.ScanRequest
	// once is set for requests to an open scanner: the server may have carried out the first one
	// although its answer was lost, so they must not be repeated, and on another server the scanner
	// is unknown.
	once, sent bool
}

func newScanCall(ctx context.Context, table string, key []byte, request *pb.ScanRequest, once bool) *scanCall {
	return &scanCall{call: newCall(ctx, []byte(table), key), request: request, once: once}
}

func (c *scanCall) Name() string               { return "Scan" }
func (c *scanCall) Description() string        { return "Scan" }
func (c *scanCall) NewResponse() proto.Message { return &pb.ScanResponse{} }

// ToProto is called for each attempt to send. Without a message gohbase cannot send and reports an
// error.
func (c *scanCall) ToProto() proto.Message {
	if c.once && c.sent {
		return nil
	}
	c.sent = true
	c.request.Region = c.regionSpecifier()
	return c.request
}

package hbase

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// fewestNear is how many rows are worth a scan. Both ways take equally long for 25 rows.
const fewestNear = 64

// A rowScan reads rows that are near to each other by one scan whose filter has their keys. Of a
// multi the server makes a scanner for each row; here one goes on from row to row, which costs it a
// half to a third. The scan is opened, read and closed by this one request. What its answer has no
// space for is asked for by another one.
type rowScan struct {
	regional
	family string
}

func newRowScan(ctx context.Context, table []byte, family string, actions []action, g *gate) *rowScan {
	return &rowScan{newRegional(ctx, table, actions, g), family}
}

func (s *rowScan) Name() string               { return "Scan" }
func (s *rowScan) Description() string        { return "Scan" }
func (s *rowScan) NewResponse() proto.Message { return &pb.ScanResponse{} }

// ToProto is called for each attempt to send, after the region is known.
func (s *rowScan) ToProto() proto.Message {
	last := s.actions[len(s.actions)-1].key
	scan := &pb.Scan{
		Column:   []*pb.Column{{Family: []byte(s.family)}},
		StartRow: s.actions[0].key, StopRow: append(bytes.Clone(last), 0),
		TimeRange: &pb.TimeRange{}, MaxResultSize: new(uint64(maxResultSize)),
		Filter: keysFilter(s.actions),
	}
	scan.ProtoReflect().SetUnknown(readByPosition)
	return &pb.ScanRequest{
		Region: s.regionSpecifier(), Scan: scan, NumberOfRows: new(uint32(math.MaxInt32)), CloseScanner: new(true),
		ClientHandlesPartials: new(false), ClientHandlesHeartbeats: new(false),
	}
}

// readByPosition is Scan.readType = PREAD, a field that gohbase's messages lack: the server is not to
// open files anew to read them from one end to the other.
var readByPosition = protowire.AppendVarint(protowire.AppendTag(nil, 23, protowire.VarintType), 2)

// keysFilter passes the rows of the actions. The numbers are those of HBase's Filter.proto:
//
//	MultiRowRangeFilter 1 RowRange...
//	RowRange            1 start_row, 2 start_row_inclusive, 3 stop_row, 4 stop_row_inclusive
func keysFilter(actions []action) *pb.Filter {
	size := 0
	for i := range actions {
		size += 2*len(actions[i].key) + actionOverhead
	}
	ranges := make([]byte, 0, size)
	for i := range actions {
		key := actions[i].key
		if i > 0 && bytes.Equal(key, actions[i-1].key) {
			continue
		}
		ranges = protowire.AppendTag(ranges, 1, protowire.BytesType)
		ranges = protowire.AppendVarint(ranges, uint64(2*(sizeTagged(len(key))+2)))
		for _, field := range []protowire.Number{1, 3} {
			ranges = protowire.AppendTag(ranges, field, protowire.BytesType)
			ranges = protowire.AppendBytes(ranges, key)
			ranges = protowire.AppendTag(ranges, field+1, protowire.VarintType)
			ranges = protowire.AppendVarint(ranges, 1)
		}
	}
	return &pb.Filter{Name: new("org.apache.hadoop.hbase.filter.MultiRowRangeFilter"), SerializedFilter: ranges}
}

// rows hands the rows of an answer to found, and returns the actions that it does not answer. Rows
// between those of two actions are not wanted.
func (s *rowScan) rows(response *pb.ScanResponse, found func(a *action, cells []cell)) (left []action, err error) {
	counts, partial := response.GetCellsPerResult(), response.GetPartialFlagPerResult()
	block := s.block
	memory := make([]cell, 0, min(sum(counts), len(block)/minCell))
	left = s.actions
	for i, n := range counts {
		if i < len(partial) && partial[i] {
			return left, nil // the rest of the row was not sent
		}
		if n == 0 {
			continue
		}
		var cells []cell
		if cells, block, err = parseCells(memory[len(memory):], block, int(n)); err != nil {
			return nil, err
		}
		memory = memory[:len(memory)+len(cells)] // they have the memory of all
		left = after(left, slices.Clip(cells), found)
	}
	if response.MoreResults != nil && !response.GetMoreResults() || response.MoreResultsInRegion != nil && !response.GetMoreResultsInRegion() {
		return nil, nil
	}
	return left, nil
}

// after returns the actions after a row, which it hands to those that want it.
func after(actions []action, row []cell, found func(a *action, cells []cell)) []action {
	for n := range actions {
		switch bytes.Compare(actions[n].key, row[0].row) {
		case 0:
			found(&actions[n], row)
		case 1:
			return actions[n:]
		}
	}
	return nil
}

// attemptNear sends the actions once, and once more those that an answer has no space for.
func (b *batch) attemptNear(ctx context.Context, actions []action) ([]failure, error) {
	request := newRowScan(ctx, []byte(b.table), b.family, actions, b.gate)
	msg, err := b.exchange(ctx, request, &request.regional)
	if err != nil {
		return refused(request.actions, err)
	}
	response, ok := msg.(*pb.ScanResponse)
	if !ok {
		return nil, fmt.Errorf("%w: scan returned a %T", errBadAnswer, msg)
	}
	cells := 0
	left, err := request.rows(response, func(a *action, row []cell) { cells += b.done(a, row) })
	b.count.Add(float64(cells))
	switch {
	case err != nil || len(left) == 0:
		return nil, err
	case len(left) == len(request.actions): // no row fits, or the server has none yet
		return b.attemptRows(ctx, left)
	}
	return b.attempt(ctx, left)
}

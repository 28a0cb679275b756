package hbase

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Increment implements kv.KV. It is sent once: when the answer is lost, it is unknown whether the
// counter moved, and the caller gets an error.
func (e *Engine) Increment(ctx context.Context, c kv.Column, delta int64) (int64, error) {
	defer e.metrics.timed(opIncrement)()
	if err := kv.CheckKey(c.Row); err != nil {
		return 0, e.explain(ctx, opIncrement, c.Table, err, 0)
	}
	limited, end := e.states.limited(ctx, c.Table, time.Now().Add(e.o.Timeout))
	defer end()
	sum, err := e.single().increment(limited, c, delta)
	if err != nil {
		return 0, e.explain(ctx, opIncrement, c.Table, causeOf(limited, err), e.o.Timeout)
	}
	return sum, nil
}

// single sends requests for one row, each once.
type single struct {
	*clients
	metrics *metrics
}

func (e *Engine) single() single { return single{&e.clients, e.metrics} }

func (r single) increment(ctx context.Context, c kv.Column, delta int64) (int64, error) {
	values := map[string]map[string][]byte{
		c.Family: {string(c.Qualifier): binary.BigEndian.AppendUint64(nil, uint64(delta))},
	}
	var sent *countCall
	msg, err := r.once(ctx, c, func() (hrpc.Call, error) {
		inc, err := hrpc.NewInc(ctx, []byte(c.Table), bytes.Clone(c.Row), values)
		sent = &countCall{Mutate: inc}
		return sent, err
	})
	if err != nil {
		if x, ok := exceptionIn(err); ok && strings.Contains(x.message, "not a long") {
			return 0, fmt.Errorf("%w: %w", kv.ErrInvalid, x)
		}
		return 0, err
	}
	response, _ := msg.(*pb.MutateResponse)
	if n := response.GetResult().GetAssociatedCellCount(); n != 1 {
		return 0, fmt.Errorf("%w: increment returned %d cells", errBadAnswer, n)
	}
	return sent.sum(c)
}

// A countCall is an increment whose answer is read here. gohbase decodes the cells of an increment
// without a check of their bounds, in the goroutine that all requests to a server share: bytes that
// are no cell would end the process. HBase 2.6.4 was seen to answer the first increment of a column
// with a cell of the right length and the bytes of other requests in it.
type countCall struct {
	*hrpc.Mutate
	block []byte
}

// DeserializeCellBlocks keeps the cells; the buffer is this answer's alone.
func (c *countCall) DeserializeCellBlocks(_ proto.Message, cells []byte) (uint32, error) {
	c.block = cells
	return uint32(len(cells)), nil
}

// sum returns the value of the only cell of the answer, if that is of the column.
func (c *countCall) sum(column kv.Column) (int64, error) {
	found, rest, err := parseCell(c.block)
	if err != nil {
		return 0, fmt.Errorf("%w to an increment: %w", errBadAnswer, err)
	}
	if len(rest) > 0 || len(found.value) != 8 || !bytes.Equal(found.row, column.Row) || !bytes.Equal(found.qualifier, column.Qualifier) {
		return 0, fmt.Errorf("%w: an increment returned a cell of row %x and column %q, %d bytes long", errBadAnswer, found.row, found.qualifier, len(found.value))
	}
	return int64(binary.BigEndian.Uint64(found.value)), nil
}

// once sends a request to the region of c until the server has certainly taken it, and never again
// after that. gohbase's own way of sending would repeat it after a lost connection; so it is used
// only to find the region.
func (r single) once(ctx context.Context, c kv.Column, newCall func() (hrpc.Call, error)) (proto.Message, error) {
	var pause backoff
	for {
		region, err := r.locate(ctx, c)
		if err != nil {
			return nil, err
		}
		rpc, err := newCall()
		if err != nil {
			return nil, err
		}
		rpc.SetRegion(region)
		msg, err := queue(ctx, region.Client(), rpc)
		if err == nil || !notExecuted(err) {
			return msg, err
		}
		r.metrics.again.Inc()
		if err := pause.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// locate returns the region of a row, which was open a moment ago.
func (c *clients) locate(ctx context.Context, column kv.Column) (hrpc.RegionInfo, error) {
	get, err := hrpc.NewGet(ctx, []byte(column.Table), bytes.Clone(column.Row), hrpc.SkipBatch())
	if err != nil {
		return nil, err
	}
	get.ExistsOnly()
	if _, err := send(ctx, c.writer, get); err != nil {
		return nil, err
	}
	return get.Region(), nil
}

// queue hands a request to the connection of a region and waits for the answer.
func queue(ctx context.Context, server hrpc.RegionClient, rpc hrpc.Call) (proto.Message, error) {
	if server == nil {
		return nil, errNotSent
	}
	go server.QueueRPC(rpc) // see send
	select {
	case r := <-rpc.ResultChan():
		return r.Msg, r.Error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CheckAndPut implements kv.KV. HBase takes a cell with an empty value for an absent one, so
// expected nil also replaces such a cell.
func (e *Engine) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	defer e.metrics.timed(opCheckAndPut)()
	if err := kv.CheckKey(c.Row); err != nil {
		return false, e.explain(ctx, opCheckAndPut, c.Table, err, 0)
	}
	limited, end := e.states.limited(ctx, c.Table, time.Now().Add(e.o.Timeout))
	defer end()
	put, err := e.single().checkAndPut(limited, c, expected, value)
	if err != nil {
		return false, e.explain(ctx, opCheckAndPut, c.Table, causeOf(limited, err), e.o.Timeout)
	}
	return put, nil
}

func (r single) checkAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	values := map[string]map[string][]byte{c.Family: {string(c.Qualifier): bytes.Clone(value)}}
	put, err := hrpc.NewPut(ctx, []byte(c.Table), bytes.Clone(c.Row), values)
	if err != nil {
		return false, err
	}
	check, err := hrpc.NewCheckAndPut(put, c.Family, string(c.Qualifier), bytes.Clone(expected))
	if err != nil {
		return false, err
	}
	msg, err := send(ctx, r.writer, checkCall{check, expected != nil && len(expected) == 0})
	if err != nil {
		return false, err
	}
	response, ok := msg.(*pb.MutateResponse)
	if !ok || response.Processed == nil {
		return false, fmt.Errorf("%w: neither put nor not put", errBadAnswer)
	}
	return response.GetProcessed(), nil
}

// A checkCall is a conditional put. Where it expects a cell with an empty value, a comparison with
// no bytes would mean an absent cell to HBase; one with a regexp that only nothing matches does
// not.
type checkCall struct {
	*hrpc.CheckAndPut
	empty bool
}

// ToProto implements hrpc.Call.
func (c checkCall) ToProto() proto.Message {
	msg := c.CheckAndPut.ToProto()
	if request, ok := msg.(*pb.MutateRequest); ok && c.empty {
		request.Condition.Comparator = regexComparator(`\A\z`)
	}
	return msg
}

// DeserializeCellBlocks skips cells, which contain nothing that was asked for; see countCall.
func (checkCall) DeserializeCellBlocks(_ proto.Message, cells []byte) (uint32, error) {
	return uint32(len(cells)), nil
}

package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// An action is what a batch does with one row. Its bytes belong to the batch: a request can be in the writing after the
// operation that asked for it has ended.
type action struct {
	row int // the caller's number of the row
	key []byte
	// get is set for a read; otherwise parts are the mutations, which happen together.
	get   *pb.Get
	parts []*pb.MutationProto
	cells []byte // of the mutations
}

// A multi is a request for many rows of one region. It is made with rows in ascending order and takes of them what the
// region of the first one turns out to hold; it says on cut, in the goroutine of gohbase, where the next region begins.
type multi struct {
	call
	actions []action
	cut     chan int
	// groups are the numbers of the actions in each RegionAction of the request.
	groups [][]int
}

func newMulti(ctx context.Context, table []byte, actions []action) *multi {
	return &multi{call: newCall(ctx, table, actions[0].key), actions: actions, cut: make(chan int)}
}

func (m *multi) Name() string               { return "Multi" }
func (m *multi) Description() string        { return "Multi" }
func (m *multi) NewResponse() proto.Message { return &pb.MultiResponse{} }

// SetRegion is called before each attempt to send; a region may have been split since the one before.
func (m *multi) SetRegion(region hrpc.RegionInfo) {
	m.call.SetRegion(region)
	stop := region.StopKey()
	if len(stop) == 0 {
		return
	}
	n := len(m.actions)
	for n > 1 && bytes.Compare(m.actions[n-1].key, stop) >= 0 {
		n--
	}
	if n == len(m.actions) {
		return
	}
	select {
	case m.cut <- n:
		m.actions = m.actions[:n]
	case <-m.ctx.Done(): // nobody listens any more, and nothing will be sent
	}
}

// CellBlocksEnabled says that SerializeCellBlocks is to be used.
func (m *multi) CellBlocksEnabled() bool { return true }

// ToProto is part of hrpc.Call but not used where there is SerializeCellBlocks.
func (m *multi) ToProto() proto.Message {
	msg, _, _ := m.SerializeCellBlocks(nil)
	return msg
}

// SerializeCellBlocks makes the request: one group with all rows that are changed by one mutation, or read, and one group
// marked as atomic for each row that several mutations change together (HBase's RowMutations).
func (m *multi) SerializeCellBlocks(blocks [][]byte) (proto.Message, [][]byte, uint32) {
	var simple, joint []int
	for i := range m.actions {
		if len(m.actions[i].parts) > 1 {
			joint = append(joint, i)
		} else {
			simple = append(simple, i)
		}
	}
	request := &pb.MultiRequest{}
	m.groups = m.groups[:0]
	var size uint32
	add := func(rows []int, atomic bool) {
		group := &pb.RegionAction{Region: m.regionSpecifier()}
		if atomic {
			group.Atomic = &atomic
		}
		for _, i := range rows {
			a := &m.actions[i]
			group.Action = append(group.Action, a.proto(i)...)
			if len(a.cells) > 0 {
				blocks = append(blocks, a.cells)
				size += uint32(len(a.cells))
			}
		}
		request.RegionAction = append(request.RegionAction, group)
		m.groups = append(m.groups, rows)
	}
	if len(simple) > 0 {
		add(simple, false)
	}
	for _, i := range joint {
		add([]int{i}, true)
	}
	return request, blocks, size
}

// proto is the action as the i-th of a request; the server repeats the index in its answer, where 0 means none.
func (a *action) proto(i int) []*pb.Action {
	index := uint32(i + 1)
	if a.get != nil {
		return []*pb.Action{{Index: &index, Get: a.get}}
	}
	out := make([]*pb.Action, len(a.parts))
	for j, p := range a.parts {
		out[j] = &pb.Action{Index: &index, Mutation: p}
	}
	return out
}

// An answer is what became of one action: cells of a read, an exception, or done.
type answer struct {
	done      bool
	cells     []cell
	exception *exception
}

var errBadAnswer = errors.New("malformed answer")

// answers takes the response apart, one answer for each action that was sent.
func (m *multi) answers(response *pb.MultiResponse) ([]answer, error) {
	if len(response.GetRegionActionResult()) != len(m.groups) {
		return nil, fmt.Errorf("%w: %d results for %d groups", errBadAnswer, len(response.GetRegionActionResult()), len(m.groups))
	}
	out := make([]answer, len(m.actions))
	cells := m.cells
	for g, result := range response.GetRegionActionResult() {
		if x := result.GetException(); x != nil {
			for _, i := range m.groups[g] {
				out[i].exception = newException(x.GetName(), string(x.GetValue()))
			}
			continue
		}
		var err error
		if cells, err = m.takeGroup(out, m.groups[g], result.GetResultOrException(), cells); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// takeGroup adds the results of one group and returns the cells after its own. A group made atomically has a result for
// each mutation, numbered from 0 within the group, and fails only as a whole.
func (m *multi) takeGroup(out []answer, group []int, results []*pb.ResultOrException, cells []byte) (rest []byte, err error) {
	atomic := len(group) == 1 && len(m.actions[group[0]].parts) > 1
	for _, r := range results {
		i := int(r.GetIndex()) - 1
		if atomic {
			i = group[0]
		}
		if i < 0 || i >= len(out) {
			return nil, fmt.Errorf("%w: index %d of %d", errBadAnswer, r.GetIndex(), len(out))
		}
		if cells, err = out[i].take(r, cells); err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// take adds one result to the answer and returns the cells after its own.
func (a *answer) take(r *pb.ResultOrException, block []byte) (rest []byte, err error) {
	if x := r.GetException(); x != nil {
		a.exception = newException(x.GetName(), string(x.GetValue()))
		return block, nil
	}
	a.done = true
	if n := int(r.GetResult().GetAssociatedCellCount()); n > 0 {
		a.cells, block, err = parseCells(nil, block, n)
	}
	return block, err
}

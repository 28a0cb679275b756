package hbase

import (
	"bytes"
	"context"

	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// A regional is a request for many rows of one region. It is made with rows in ascending order and
// takes those that the region of the first one holds; it sends on cut, in gohbase's goroutine,
// where the next region begins.
type regional struct {
	call
	actions []action
	cut     chan int
	// gate lets in as many requests as a region server is to have at a time; pass is the place at
	// the server that the request goes to.
	gate *gate
	pass chan struct{}
}

func newRegional(ctx context.Context, table []byte, actions []action, g *gate) regional {
	return regional{call: newCall(ctx, table, actions[0].key), actions: actions, cut: make(chan int), gate: g}
}

// A multi is a regional that HBase carries out row by row.
type multi struct {
	regional
	// sent are the actions of the request: those of the regional, or a proof.
	sent []action
	// groups are the numbers of the sent actions in each RegionAction of the request.
	groups [][]int
	// proofs are nil if no action has a condition; these are about rows of a family.
	proofs *proofs
	family string
	// proving means that a proof is sent, over the connection of server.
	proving bool
	server  hrpc.RegionClient
}

func newMulti(ctx context.Context, table []byte, actions []action, g *gate) *multi {
	return &multi{regional: newRegional(ctx, table, actions, g)}
}

// SetRegion decides what is sent to the server of the region: the actions, or a proof that it looks
// at their conditions.
func (m *multi) SetRegion(region hrpc.RegionInfo) {
	m.regional.SetRegion(region)
	m.sent, m.server = m.actions, region.Client()
	if m.proving = m.proofs != nil && m.proofs.lacks(m.server); m.proving {
		m.sent = proofAction(m.family, m.actions[0].key)
	}
}

func (m *multi) Name() string        { return "Multi" }
func (m *multi) Description() string { return "Multi" }

// NewResponse takes any answer: a message without fields keeps its bytes for the goroutine that
// waits.
func (m *multi) NewResponse() proto.Message { return &emptypb.Empty{} }

// SetRegion is called before each attempt to send, in the goroutine that sends; a region may have
// been split since the one before, or moved to another server. It returns when the gate admits the
// request.
func (r *regional) SetRegion(region hrpc.RegionInfo) {
	r.call.SetRegion(region)
	r.cutAt(region.StopKey())
	r.leave()
	r.pass = r.gate.enter(r.ctx, region)
}

// leave gives the place at the server back.
func (r *regional) leave() {
	if r.pass != nil {
		<-r.pass
		r.pass = nil
	}
}

// cutAt hands the actions from the key on, if any, to others.
func (r *regional) cutAt(stop []byte) {
	if len(stop) == 0 {
		return
	}
	n := len(r.actions)
	for n > 1 && bytes.Compare(r.actions[n-1].key, stop) >= 0 {
		n--
	}
	if n == len(r.actions) {
		return
	}
	select {
	case r.cut <- n:
		r.actions = r.actions[:n]
	case <-r.ctx.Done(): // the caller has left, and nothing will be sent
	}
}

// CellBlocksEnabled reports whether SerializeCellBlocks is to be used.
func (m *multi) CellBlocksEnabled() bool { return true }

// ToProto is part of hrpc.Call but not used where there is SerializeCellBlocks.
func (m *multi) ToProto() proto.Message {
	msg, _, _ := m.SerializeCellBlocks(nil)
	return msg
}

// SerializeCellBlocks makes the request: one group with all rows that are changed by one mutation,
// or read, and one group for each row that two mutations change together, marked as atomic (HBase's
// RowMutations), or whose change has a condition.
func (m *multi) SerializeCellBlocks(blocks [][]byte) (proto.Message, [][]byte, uint32) {
	simple := make([]int, 0, len(m.sent))
	var joint []int
	for i := range m.sent {
		if m.sent[i].alone() {
			joint = append(joint, i)
		} else {
			simple = append(simple, i)
		}
	}
	m.groups = m.groups[:0]
	if len(simple) > 0 {
		m.groups = append(m.groups, simple)
	}
	for i := range joint {
		m.groups = append(m.groups, joint[i:i+1])
	}
	region := regionField(m.region.Name())
	var request []byte
	var size uint32
	for _, rows := range m.groups {
		request = m.appendGroup(request, region, rows)
		for _, i := range rows {
			blocks = appendBlock(blocks, m.sent[i].cells)
			size += uint32(len(m.sent[i].cells))
		}
	}
	return rawMessage(request), blocks, size
}

// appendBlock appends the cells of an action to those that are sent, in one piece with the cells
// before if they follow them in memory.
func appendBlock(blocks [][]byte, cells []byte) [][]byte {
	if len(cells) == 0 {
		return blocks
	}
	if n := len(blocks) - 1; n >= 0 {
		last := blocks[n]
		if len(last) < cap(last) && &last[:len(last)+1][len(last)] == &cells[0] {
			blocks[n] = last[:len(last)+len(cells)]
			return blocks
		}
	}
	return append(blocks, cells)
}

package query

import (
	"context"
	"time"
)

// The bounds of a trace. Nodes beyond them are not shown, and their time is that of the node above.
const (
	mostNodes = 500
	mostReads = 500
	// textBytes is how many bytes of the text of a node and of a read are shown.
	textBytes = 1000
)

// A Trace makes the tree of a query while it is evaluated, by one goroutine at a time. A nil Trace keeps nothing.
type Trace struct {
	top   Node // above the tree
	at    *Step
	nodes int
	reads []*Read
}

// BeginTrace returns a context with a trace.
func BeginTrace(ctx context.Context) (context.Context, *Trace) {
	t := &Trace{}
	return with(ctx, func(h *handle) { h.trace = t }), t
}

// A Step is a node that is being computed. A nil Step is not shown.
type Step struct {
	trace *Trace
	outer *Step // nil: none
	node  *Node
	begun time.Time
	inner time.Duration // of inputs and reads
}

// Enter begins a node. It is an input of the node that was begun last and has not ended. The texts are not copied.
func (t *Trace) Enter(operator, expression string) *Step {
	if t == nil {
		return nil
	}
	above := &t.top
	if t.at != nil {
		above = t.at.node
	}
	if t.nodes >= mostNodes {
		above.More++
		return nil
	}
	t.nodes++
	s := &Step{trace: t, outer: t.at, begun: time.Now(), node: &Node{ID: t.nodes, Operator: operator, Expression: expression, NotDone: true}}
	above.Inputs = append(above.Inputs, s.node)
	t.at = s
	return s
}

// Result notes what the node has computed.
func (s *Step) Result(series, samples int) {
	if s != nil {
		s.node.NotDone, s.node.Series, s.node.Samples = false, series, samples
	}
}

// Uses notes that the node shows series of a read.
func (s *Step) Uses(read int) {
	if s == nil || read < 0 {
		return
	}
	s.node.Reads = append(s.node.Reads, read)
	s.node.Bytes += s.trace.reads[read].Bytes
}

// Uses notes that the node that was begun last shows series of a read.
func (t *Trace) Uses(read int) {
	if t != nil {
		t.at.Uses(read)
	}
}

// End ends the node, and those in it that did not end.
func (s *Step) End() {
	if s == nil {
		return
	}
	took := time.Since(s.begun)
	s.node.Seconds = max(0, took-s.inner).Seconds()
	if s.trace.at = s.outer; s.outer != nil {
		s.outer.inner += took
	}
}

// A Reading is a read under way. A nil Reading is not shown.
type Reading struct {
	trace *Trace
	read  *Read
	tally *Tally
	begun time.Time
}

// Reading begins a read of a time in milliseconds. What is read with the context that it returns is counted for it.
func (t *Trace) Reading(ctx context.Context, selector string, start, end int64) (context.Context, *Reading) {
	if t == nil || len(t.reads) >= mostReads {
		return ctx, nil
	}
	r := &Reading{trace: t, begun: time.Now(), read: &Read{Selector: selector, Start: time.UnixMilli(start).UTC(), End: time.UnixMilli(end).UTC()}}
	ctx, r.tally = BeginTally(ctx)
	return ctx, r
}

// End ends a read that found series, and returns its index; -1: it is not shown.
func (r *Reading) End(series int, samples int64) int {
	if r == nil {
		return -1
	}
	took := time.Since(r.begun)
	r.read.Series, r.read.Samples, r.read.Seconds = series, samples, took.Seconds()
	r.read.Count(r.tally)
	if at := r.trace.at; at != nil {
		at.inner += took
	}
	r.trace.reads = append(r.trace.reads, r.read)
	return len(r.trace.reads) - 1
}

// Plan returns the tree so far, nil if there is none. Several trees have a node above them, of a name.
func (t *Trace) Plan(above string) *Node {
	if t == nil {
		return nil
	}
	switch len(t.top.Inputs) {
	case 0:
		return nil
	case 1:
		if t.top.More == 0 {
			return t.top.Inputs[0].Small(mostNodes, textBytes)
		}
	}
	all := t.top
	all.Operator = above
	for _, in := range all.Inputs {
		all.NotDone = all.NotDone || in.NotDone
		all.Series += in.Series
		all.Samples += in.Samples
	}
	return all.Small(mostNodes+1, textBytes)
}

// Reads returns the reads so far.
func (t *Trace) Reads() []*Read {
	list := []*Read{}
	if t == nil {
		return list
	}
	for _, r := range t.reads {
		short := *r
		short.Selector = CutText(r.Selector, textBytes)
		list = append(list, &short)
	}
	return list
}

// Set gives a trace a tree and reads that were made by others.
func (t *Trace) Set(plan *Node, reads []*Read) {
	if t != nil && plan != nil {
		t.top, t.reads = Node{Inputs: []*Node{plan}}, reads
	}
}

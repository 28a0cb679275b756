package hbase

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/tsuna/gohbase/hrpc"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
)

// maxBatchBytes bounds the cells of one request; HBase refuses none below
// hbase.ipc.max.request.size, 256 MB.
const maxBatchBytes = 2 << 20

// A batch carries out one Get or Apply: its rows, in the order of their keys, go out in requests of
// a limited size, each to one region, some of them at a time, until every row has been answered or
// time is up.
type batch struct {
	e         *Engine
	client    caller
	operation string
	table     string
	tokens    chan struct{} // one for each batch in memory
	gate      *gate
	group     *errgroup.Group
	ctx       context.Context //nolint:containedctx // a batch lives as long as one operation
	// size is what the i-th row takes in a request, about.
	size func(i int) int
	// encode makes the actions for the rows of some numbers, in memory of their own.
	encode func(rows []int) []action
	// done takes the answer for an action and returns how many cells it was about, for count;
	// different rows at the same time.
	done  func(a *action, cells []cell) int
	count prometheus.Counter
	// near means that the actions read rows of a family that are near to each other.
	near   bool
	family string
	// proofs are set if actions have conditions: servers must prove that they look at these.
	proofs *proofs
}

// run carries out the rows of the given numbers, which are in ascending order of their keys.
func (b *batch) run(ctx context.Context, order []int) error {
	b.group, b.ctx = errgroup.WithContext(ctx)
	for len(order) > 0 {
		n := b.fitting(order)
		rows := order[:n]
		order = order[n:]
		deadline := time.Now().Add(b.e.o.Timeout)
		if err := b.begin(deadline); err != nil {
			b.group.Go(func() error { return err })
			break
		}
		b.group.Go(func() error {
			defer b.end()
			return b.explain(b.work(b.encode(rows), deadline))
		})
	}
	return b.group.Wait()
}

// begin waits until there is a token for one more batch. The wait is a part of the time that the
// batch has: an operation takes Timeout once when HBase is gone, however many wait.
func (b *batch) begin(deadline time.Time) error {
	select {
	case b.tokens <- struct{}{}:
		return nil
	default:
	}
	ctx, end := b.e.states.limited(b.ctx, b.table, deadline)
	defer end()
	select {
	case b.tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return b.explain(context.Cause(ctx))
	}
}

func (b *batch) end() { <-b.tokens }

// fitting returns how many of the rows go into one request.
func (b *batch) fitting(order []int) int {
	size := 0
	for n, i := range order {
		if size += b.size(i); n == b.e.o.BatchRows || n > 0 && size > maxBatchBytes {
			return n
		}
	}
	return len(order)
}

// spawn carries out the actions that a request could not take along, as a batch of their own with
// the same deadline.
func (b *batch) spawn(actions []action, deadline time.Time) {
	b.group.Go(func() error {
		if err := b.begin(deadline); err != nil {
			return err
		}
		defer b.end()
		return b.explain(b.work(actions, deadline))
	})
}

func (b *batch) explain(err error) error {
	if err == nil {
		return nil
	}
	return b.e.explain(b.ctx, b.operation, b.table, err, b.e.o.Timeout)
}

// work sends actions until all are answered.
func (b *batch) work(actions []action, deadline time.Time) error {
	defer b.e.metrics.timed(b.operation)()
	ctx, end := b.e.states.limited(b.ctx, b.table, deadline)
	defer end()
	var pause backoff
	for len(actions) > 0 {
		failed, err := b.attempt(ctx, actions)
		if err == nil && len(failed) > 0 {
			err = b.recover(ctx, failed, &pause)
		}
		if err != nil {
			return causeOf(ctx, err)
		}
		actions = failedActions(failed)
	}
	return nil
}

// A failure is an action that has to be made again, and the server's exception for it; nil if there
// was none.
type failure struct {
	action
	reason *exception
}

func failedActions(failed []failure) []action {
	actions := make([]action, len(failed))
	for i := range failed {
		actions[i] = failed[i].action
	}
	return actions
}

// attempt sends the actions once. Those that belong to other regions go their own way.
func (b *batch) attempt(ctx context.Context, actions []action) ([]failure, error) {
	if b.near && len(actions) >= fewestNear {
		return b.attemptNear(ctx, actions)
	}
	return b.attemptRows(ctx, actions)
}

// attemptRows is attempt by a request that names the rows one by one.
func (b *batch) attemptRows(ctx context.Context, actions []action) ([]failure, error) {
	request := newMulti(ctx, []byte(b.table), actions, b.gate)
	request.proofs, request.family = b.proofs, b.family
	response, err := b.exchange(ctx, request, &request.regional)
	if err != nil {
		return refused(request.actions, err)
	}
	answers, err := request.answers(unknownFields(response))
	if err != nil {
		return nil, err
	}
	if request.proving {
		return b.proved(ctx, request, &answers[0])
	}
	var failed []failure
	cells := 0
	defer func() { b.count.Add(float64(cells)) }()
	for i := range answers {
		switch a := &answers[i]; {
		case a.exception != nil && a.exception.classify() == giveUp:
			return nil, a.exception
		case a.exception != nil || !a.done:
			failed = append(failed, failure{request.actions[i], a.exception})
		default:
			request.actions[i].made = a.made
			cells += b.done(&request.actions[i], a.cells)
		}
	}
	return failed, nil
}

// proved takes the answer to a proof, and then sends the actions that it was sent in place of.
func (b *batch) proved(ctx context.Context, proof *multi, a *answer) ([]failure, error) {
	switch {
	case a.exception != nil:
		return refused(proof.actions, a.exception)
	case !a.done:
		failed := make([]failure, len(proof.actions))
		for i := range failed {
			failed[i].action = proof.actions[i]
		}
		return failed, nil
	}
	b.proofs.add(proof.server)
	return b.attemptRows(ctx, proof.actions)
}

// refused returns what a request failed with: its actions, if they are to be made again.
func refused(actions []action, err error) ([]failure, error) {
	x, ok := exceptionIn(err)
	if !ok || x.classify() == giveUp {
		return nil, err
	}
	failed := make([]failure, len(actions)) // a class that gohbase takes for final
	for i := range actions {
		failed[i] = failure{actions[i], x}
	}
	return failed, nil
}

// exchange sends the request, of which r is a part. Meanwhile it frees the memory of what the
// request cuts off.
func (b *batch) exchange(ctx context.Context, request hrpc.Call, r *regional) (proto.Message, error) {
	type reply struct {
		response proto.Message
		err      error
	}
	replied := make(chan reply, 1)
	rest := r.actions
	go func() {
		msg, err := b.client.SendRPC(request) // see send
		r.leave()
		replied <- reply{msg, err}
	}()
	for {
		select {
		case n := <-r.cut:
			others := rest[n:]
			rest = rest[:n]
			deadline, _ := ctx.Deadline()
			b.spawn(others, deadline)
		case reply := <-replied:
			return reply.response, reply.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// unknownFields returns the message that came for a request without an expected type of answer.
func unknownFields(msg proto.Message) []byte {
	if msg == nil {
		return nil
	}
	return msg.ProtoReflect().GetUnknown()
}

// recover does what the failures ask for before the next attempt. It ends with the first reason
// when time is up.
func (b *batch) recover(ctx context.Context, failed []failure, pause *backoff) error {
	reason := failed[0].reason
	var err error
	if reason != nil && reason.classify() == moved {
		b.e.metrics.moved.Inc()
		err = b.probe(ctx, failed[0].key)
	} else {
		b.e.metrics.again.Inc()
		err = pause.wait(ctx)
	}
	if err != nil && ctx.Err() != nil && b.ctx.Err() == nil && reason != nil {
		return b.e.o.tooLate(b.e.o.Timeout, reason)
	}
	return err
}

// probe asks for a row by itself: gohbase notices that a region has moved only when a whole request
// fails, not when a part of a batch does. The probe fails in its stead, gohbase finds the region,
// and the probe returns when it is open.
func (b *batch) probe(ctx context.Context, key []byte) error {
	get, err := hrpc.NewGet(ctx, []byte(b.table), key, hrpc.SkipBatch())
	if err != nil {
		return err
	}
	get.ExistsOnly()
	_, err = send(ctx, b.client, get)
	return err
}

package hbase

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
)

// errDisabled means that an operator has disabled a table. HBase's servers report its regions as
// not served, like those that are moving, and gohbase looks for them until its caller gives up.
var errDisabled = errors.New("the table is disabled; \"enable\" of HBase's shell makes it available")

// stateAfter is how long an operation waits for an answer before it asks whether its table is
// disabled; stateAge is how long the answer counts.
const (
	stateAfter = time.Second
	stateAge   = time.Second
)

// tableStates remembers which tables are disabled.
type tableStates struct {
	clients *clients
	log     *slog.Logger

	mu    sync.Mutex // guards known
	known map[string]tableState
}

type tableState struct {
	asked    time.Time
	disabled bool
}

// limited ends a context when a time has passed, or with errDisabled as its cause when there is no
// answer because the table is disabled.
func (s *tableStates) limited(ctx context.Context, table string, deadline time.Time) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	timer := time.AfterFunc(min(stateAfter, time.Until(deadline)/2), func() {
		if s.isDisabled(ctx, table) {
			end(errDisabled)
		}
	})
	return ctx, func() { timer.Stop(); cancel(); end(nil) }
}

// causeOf is errDisabled in place of what an operation came to because limited ended its context.
func causeOf(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errDisabled) {
		return errDisabled
	}
	return err
}

// isDisabled asks hbase:meta; no when there is no answer.
func (s *tableStates) isDisabled(ctx context.Context, table string) bool {
	s.mu.Lock()
	known, ok := s.known[table]
	s.mu.Unlock()
	if ok && time.Since(known.asked) < stateAge {
		return known.disabled
	}
	disabled, err := s.askState(ctx, table)
	if err != nil {
		s.log.Debug("state of a table is not known", "table", table, "err", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]tableState{}
	}
	s.known[table] = tableState{time.Now(), disabled}
	return disabled
}

// The states of TableState in HBase's HBase.proto.
const (
	stateDisabled  = 1
	stateDisabling = 2
)

// askState reads the column table:state of the table's row in hbase:meta.
func (s *tableStates) askState(ctx context.Context, table string) (disabled bool, err error) {
	get, err := hrpc.NewGet(ctx, []byte("hbase:meta"), []byte(table), hrpc.Families(map[string][]string{"table": {"state"}}), hrpc.SkipBatch())
	if err != nil {
		return false, err
	}
	msg, err := send(ctx, s.clients.reader(), get)
	if err != nil {
		return false, err
	}
	response, ok := msg.(*pb.GetResponse)
	if !ok {
		return false, fmt.Errorf("%w: get returned a %T", errBadAnswer, msg)
	}
	for _, c := range response.GetResult().GetCell() {
		number, kind, n := protowire.ConsumeTag(c.GetValue())
		if n <= 0 || number != 1 || kind != protowire.VarintType {
			continue
		}
		state, _ := protowire.ConsumeVarint(c.GetValue()[n:])
		return state == stateDisabled || state == stateDisabling, nil
	}
	return false, nil
}

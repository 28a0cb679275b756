package hbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A region server before HBase 2.4 does not know the condition of a RegionAction: it makes the
// change without looking at the row. So each server must prove that it looks before it gets a
// change with a condition: the first such request on a connection is replaced by a proof, a
// deletion whose condition is never true. A server that looks answers that it made no change. One
// that does not has made a tombstone for a cell that nobody puts, and gets no other request. The
// version of a server would not tell: vendors bring single changes to older versions, and while a
// cluster is upgraded its servers have several.

// proofQualifier is the cell that a proof would delete, and neverTime the stamp that its condition
// asks for: HBase's clock does not reach it in a million years.
const (
	proofQualifier = "tsdbridge-proof"
	neverTime      = 1<<60 + 20200101
)

// proofAction is the action of a proof in the row of a key.
func proofAction(family string, key []byte) []action {
	proof := []kv.Conditional{neverMade(key)}
	return encodeConditionals(family, proof, kv.Mutations(proof), []int{0})
}

// neverMade is a change whose condition is never true.
func neverMade(key []byte) kv.Conditional {
	return kv.Conditional{
		Mutation: kv.Mutation{Key: key, Deletes: []kv.Delete{{Qualifier: []byte(proofQualifier), Time: 1}}},
		Read:     []kv.Cell{{Qualifier: []byte(proofQualifier), Time: neverTime}},
	}
}

// proofs remembers which servers have proved that they look at conditions, by their addresses: a
// server of another version at the same address has another connection.
type proofs struct {
	mu     sync.Mutex // guards proven
	proven map[string]hrpc.RegionClient
}

func newProofs() *proofs { return &proofs{proven: map[string]hrpc.RegionClient{}} }

// lacks reports whether a server has proved nothing on its connection, nil if that was lost.
func (p *proofs) lacks(client hrpc.RegionClient) bool {
	if client == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.proven[client.Addr()] != client
}

// add notes that a server has answered a proof on a connection.
func (p *proofs) add(client hrpc.RegionClient) {
	if client == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proven[client.Addr()] = client
}

// errUnconditional is what a server does that makes a change without looking at its condition.
func errUnconditional(client hrpc.RegionClient) error {
	server := "a region server"
	if client != nil {
		server = "the region server " + client.Addr()
	}
	return fmt.Errorf("%w: %s makes conditional changes without looking at their conditions, as HBase before 2.4 does; HBase 2.4 or later is needed",
		storage.ErrUnsupported, server)
}

// proofWait is how long Supported waits for further servers when one has proved itself.
const proofWait = 2 * time.Second

// Supported implements kv.Versioned: all servers that have regions of the table must look at
// conditions. One that does not answer is not waited for if another one does: it proves itself
// before it gets the first change with a condition.
func (e *Engine) Supported(ctx context.Context, table, family string) error {
	keys, err := e.keyOfEachServer(ctx, table)
	if err != nil {
		return err
	}
	err = e.prove(ctx, table, family, keys)
	if errors.Is(err, storage.ErrUnsupported) {
		return e.o.withVersion(ctx, err)
	}
	return err
}

// keyOfEachServer returns the first key of one region of a table on each server. A table without
// open regions has the first key of all.
func (e *Engine) keyOfEachServer(ctx context.Context, table string) ([][]byte, error) {
	regions, err := e.regionsByServer(ctx, table)
	if err != nil {
		return nil, fmt.Errorf("list the regions of %s: %w", table, err)
	}
	var keys [][]byte
	for _, names := range regions {
		start, _ := regionStart([]byte(names[0]), strings.TrimPrefix(table, "default:"))
		if len(start) == 0 {
			start = []byte{0}
		}
		keys = append(keys, start)
	}
	if len(keys) == 0 {
		keys = [][]byte{{0}}
	}
	return keys, nil
}

// prove makes changes that are never made in the rows of the keys, at the same time.
func (e *Engine) prove(ctx context.Context, table, family string, keys [][]byte) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, len(keys))
	for _, key := range keys {
		running.Go(func() {
			_, err := e.ApplyUnchanged(ctx, table, family, []kv.Conditional{neverMade(key)})
			answers <- err
		})
	}
	var enough <-chan time.Time
	var first error
	for range keys {
		select {
		case err := <-answers:
			switch {
			case errors.Is(err, storage.ErrUnsupported):
				return err
			case err == nil && enough == nil:
				enough = time.After(proofWait)
			case err != nil && first == nil:
				first = err
			}
		case <-enough:
			return nil
		}
	}
	if enough != nil {
		return nil
	}
	return first
}

// versionTimeout is how long the master may take to tell its version, which is only for a text.
const versionTimeout = 5 * time.Second

// withVersion adds the version of the master to an error, if it can be asked.
func (o Options) withVersion(ctx context.Context, err error) error {
	version, unknown := o.masterVersion(ctx)
	if unknown != nil {
		o.Logger.Warn("HBase's version cannot be read, so the error that follows does not name it", "err", unknown)
		return err
	}
	return fmt.Errorf("%w (the master is HBase %s)", err, version)
}

// masterVersion asks the master for its version.
func (o Options) masterVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	a := o.newAdmin()
	defer a.close()
	// GetClusterStatusRequest.options = HBASE_VERSION, which gohbase's message lacks. HBase 1 does not
	// know it and tells everything.
	request, response := &pb.GetClusterStatusRequest{}, &pb.GetClusterStatusResponse{}
	request.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 0))
	if err := a.do(ctx, "GetClusterStatus", request, response); err != nil {
		return "", err
	}
	version := response.GetClusterStatus().GetHbaseVersion().GetVersion()
	if version == "" {
		return "", fmt.Errorf("%w: the master tells no version", errBadAnswer)
	}
	return version, nil
}

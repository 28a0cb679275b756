package pipeline

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/relay"
	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
)

// ForwardOptions are the settings of what is sent to other carbons.
type ForwardOptions struct {
	// Addresses is --carbon.forward: host:port of each of them; empty: nothing is sent.
	Addresses []string
	// Points is --carbon.forward-points: relayReceived or relayStored.
	Points string
	// Protocol is --carbon.forward-protocol; see relay.Options.
	Protocol string
	// Path is --carbon.forward-path: the directory of the spools.
	Path string
	// MaxBytes is --carbon.forward-max-bytes, of the spool of each.
	MaxBytes int64
	// HasSpace reports whether the disk of a directory has space for spools; nil: it has.
	HasSpace func(dir string) bool
	// Owner is the store that the spools belong to; nil: it has no name.
	Owner persistentqueue.Owner
}

// The values of --carbon.forward-points.
const (
	relayReceived = "received" // as carbon-relay: what the lists take, under the names that are sent
	relayStored   = "stored"   // as carbon-aggregator: what is stored, under the names that rules make
)

// defaultForwardOptions returns the settings without any flag.
func defaultForwardOptions() ForwardOptions {
	return ForwardOptions{Points: relayReceived, Protocol: string(relay.Pickle), MaxBytes: 4 << 30}
}

// forwarders send points to other carbons. nil sends none.
type forwarders struct {
	points string
	to     []*relay.Forwarder
}

// newRelay opens the spools; nil without an address.
func newRelay(o ForwardOptions, port Parts) (*forwarders, error) {
	if len(o.Addresses) == 0 {
		return nil, nil
	}
	if o.Points != relayReceived && o.Points != relayStored {
		return nil, fmt.Errorf("--carbon.forward-points=%s: want %s or %s", o.Points, relayReceived, relayStored)
	}
	if o.Path == "" {
		return nil, errors.New("--carbon.forward needs --carbon.forward-path, since there is no --storage.path")
	}
	r := &forwarders{points: o.Points}
	for _, address := range o.Addresses {
		f, err := relay.New(relay.Options{
			Address: address, Protocol: relay.Protocol(o.Protocol), Dir: o.Path, MaxBytes: o.MaxBytes, HasSpace: o.HasSpace, Owner: o.Owner,
			Logger: port.Logger, Registerer: port.Registerer, Now: port.Now,
		})
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.to = append(r.to, f)
	}
	return r, nil
}

// wants reports whether these are the points to be sent.
func (r *forwarders) wants(points string) bool { return r != nil && r.points == points }

// Put takes points to be sent, and never waits.
func (r *forwarders) Put(points []carbon.Point) {
	if r == nil {
		return
	}
	for _, f := range r.to {
		f.Put(points)
	}
}

// run sends until ctx ends, and takes points until ended is closed.
func (r *forwarders) run(ctx context.Context, ended <-chan struct{}) error {
	if r == nil {
		return nil
	}
	var group errgroup.Group
	for _, f := range r.to {
		group.Go(func() error { return f.Run(ctx, ended) })
	}
	return group.Wait()
}

// close closes the spools of a relay that never ran.
func (r *forwarders) close() error {
	if r == nil {
		return nil
	}
	var err error
	for _, f := range r.to {
		err = errors.Join(err, f.Close())
	}
	return err
}

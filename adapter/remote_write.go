package adapter

import (
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/remotewrite"
	"github.com/tsdbridge/tsdbridge/storage"
)

// RemoteWriteOptions are the flags of what is sent on by remote write.
type RemoteWriteOptions struct {
	Path     string // --remote-write.path: the directory of the spools
	MaxBytes int64  // --remote-write.max-bytes, of the spool of each destination
}

// DefaultRemoteWriteOptions returns the settings without any flag.
func DefaultRemoteWriteOptions() RemoteWriteOptions { return RemoteWriteOptions{MaxBytes: 8 << 30} }

// remoteWrite returns the destinations of remote_write.
func (o Options) remoteWrite() remotewrite.Settings {
	if o.PromConfig == nil {
		return remotewrite.Settings{External: labels.EmptyLabels()}
	}
	return remotewrite.Settings{Remotes: o.PromConfig.RemoteWriteConfigs, External: o.PromConfig.GlobalConfig.ExternalLabels}
}

// validateRemoteWrite names the setting that cannot work.
func (o Options) validateRemoteWrite() error {
	s := o.remoteWrite()
	switch {
	case o.RemoteWrite.MaxBytes < remotewrite.MinBytes:
		return fmt.Errorf("--remote-write.max-bytes=%d: must be at least %d", o.RemoteWrite.MaxBytes, remotewrite.MinBytes)
	case len(s.Remotes) > 0 && o.remoteWritePath() == "":
		return errors.New("remote_write needs --remote-write.path, since there is no --storage.path")
	}
	return s.Validate()
}

// openRemoteWrite opens the spools of the destinations. A command sends nothing on.
func (a *Adapter) openRemoteWrite() error {
	if a.o.Command {
		return nil
	}
	forwarder := remotewrite.NewManager(remotewrite.Options{
		Dir: a.o.remoteWritePath(), MaxBytes: a.o.RemoteWrite.MaxBytes, HasSpace: a.o.HasSpoolSpace, Owner: a.spoolOwner,
		Catalog: a.store.Catalog(), Metadata: a.store.Documents(), Labels: a.names.ToLabels,
		Logger: a.o.Logger, Registerer: a.registry, Now: a.o.Now,
	})
	if err := forwarder.Apply(a.o.remoteWrite()); err != nil {
		return errors.Join(err, forwarder.Close())
	}
	a.forward.manager = forwarder
	a.store.Catalog().OnRename(forwarder.DropCaches)
	return nil
}

// forwarding sends what is stored to other servers.
type forwarding struct {
	manager *remotewrite.Manager // nil: a command
}

// appended passes a batch that the store has to the spools of remote_write.
func (f *forwarding) appended(b *storage.Batch) {
	if f.manager != nil {
		f.manager.Appended(b)
	}
}

// close closes the spools. The store appends nothing any more.
func (f *forwarding) close() error {
	if f.manager == nil {
		return nil
	}
	return f.manager.Close()
}

package forward

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/retry"
	"github.com/tsdbridge/tsdbridge/statefile"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// segmentBytes is the size of a file of a spool. It has at least four.
const segmentBytes int64 = 32 << 20

// MinBytes is the smallest size of a spool.
const MinBytes = 4 * segmentBytes

// quietTime is how long a spool must have taken everything for a refusal to have ended.
const quietTime = time.Minute

var errNoSpace = errors.New("too little free disk space")

// A destination is a server that batches are sent to, with its spool.
type destination struct {
	m       *Manager
	name    string
	dir     string
	state   string // a file: how far the server has the spool
	log     *log.Log
	metrics *remoteMetrics
	spooled chan struct{} // holds one when the spool has grown
	names   atomic.Pointer[names]

	// What follows belongs to the Manager.
	sender *sender
	cancel context.CancelFunc // of the sender; nil: it does not run
	ended  chan struct{}      // closed when the sender has ended

	mu        sync.Mutex // guards all below
	confirmed log.Position
	oldest    int64 // milliseconds: when the first record came that is not sent; 0: all are
	refusal   refusal
	keeping   retry.Outcome // of the state
}

// refusal is a time in which a spool takes nothing, or only some. It is logged once.
type refusal struct {
	last    time.Time // zero: there is none
	dropped int
}

// sent is the document of the state.
type sent struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
}

// nameOf returns the name of a destination: the given one, or one made of the URL.
func nameOf(r *config.RemoteWriteConfig) string {
	if r.Name != "" {
		return r.Name
	}
	sum := sha256.Sum256([]byte(r.URL.String()))
	return r.URL.Host + "-" + hex.EncodeToString(sum[:4])
}

// dirOf returns the name of the directory of a destination.
func dirOf(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if safe == name {
		return safe
	}
	sum := sha256.Sum256([]byte(name))
	return safe[:min(len(safe), 64)] + "-" + hex.EncodeToString(sum[:4])
}

// newDestination opens the spool of a destination.
func (m *Manager) newDestination(name string) (*destination, error) {
	segment := cmp.Or(m.o.segmentBytes, segmentBytes)
	dir := filepath.Join(m.o.Dir, dirOf(name))
	d := &destination{m: m, name: name, dir: dir, state: filepath.Join(dir, "sent.json"), spooled: make(chan struct{}, 1)}
	var err error
	d.log, err = log.Open(log.Options{
		Dir: filepath.Join(dir, "spool"), SegmentBytes: segment, MaxBytes: max(m.o.MaxBytes, 4*segment), SpareBytes: segment,
		MaxRecordBytes: cmp.Or(m.o.recordBytes, mostRecord), Logger: m.o.Logger, Now: m.o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("the spool %s: %w", dir, err)
	}
	if err := d.loadState(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", d.state, err), d.log.Close())
	}
	d.peek()
	d.metrics = m.metrics.of(d)
	return d, nil
}

// loadState reads how far the server has the spool. A state of a spool that is gone counts for nothing.
func (d *destination) loadState() error {
	var s sent
	if found, err := statefile.Read(d.state, &s); !found || err != nil {
		return err
	}
	if at := (log.Position{Segment: s.Segment, Offset: s.Offset}); at.Compare(d.log.End()) <= 0 {
		d.confirmed = at
	}
	return nil
}

var errPeeked = errors.New("one record is enough")

// peek notes when the oldest record came that is not sent. What cannot be read shows when it is sent.
func (d *destination) peek() {
	_ = d.log.Tail(context.Background(), d.confirmed, func(record []byte, _ log.Position) error {
		d.oldest, _ = cameAt(record)
		return errPeeked
	})
}

// keep puts records into the spool, or counts them.
func (d *destination) keep(r records) {
	d.metrics.drop(dropForm, r.refused)
	var err error
	if !d.m.o.HasSpace(d.m.o.Dir) {
		err = errNoSpace
	}
	for _, record := range r.all {
		if err == nil {
			_, err = d.log.Append(context.Background(), record)
		}
	}
	if !errors.Is(err, log.ErrClosed) { // else it was removed a moment ago
		d.noteKept(err, r)
	}
}

// noteKept notes what became of records.
func (d *destination) noteKept(err error, r records) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, now := d.m.o, d.m.o.Now()
	if err == nil {
		if d.oldest == 0 {
			d.oldest = r.came
		}
		signal(d.spooled)
		if !d.refusal.last.IsZero() && now.Sub(d.refusal.last) >= quietTime {
			o.Logger.Info("the spool takes all samples for a destination of remote_write again", "destination", d.name, "dropped", d.refusal.dropped)
			d.refusal = refusal{}
		}
		return
	}
	reason := dropDisk
	if errors.Is(err, log.ErrFull) {
		reason = dropFull
	}
	d.metrics.drop(reason, r.entries)
	if d.refusal.last.IsZero() {
		o.Logger.Warn("the spool takes no samples for a destination of remote_write, they are stored here but not sent; look why it takes none, or give the spool more space (--remote-write.max-bytes)",
			"destination", d.name, "directory", d.dir, "limit", o.MaxBytes, "err", err)
	}
	d.refusal.last, d.refusal.dropped = now, d.refusal.dropped+r.entries
}

// position is up to where the server has the spool.
func (d *destination) position() log.Position {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.confirmed
}

// waiting is how many bytes the server does not have.
func (d *destination) waiting() int64 { return d.log.After(d.position()) }

// reading notes when the oldest record came that is not sent; 0: all are.
func (d *destination) reading(came int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.oldest = came
}

// lag returns how many seconds ago the oldest record came that is not sent.
func (d *destination) lag() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.oldest == 0 {
		return 0
	}
	return max(0, d.m.o.Now().Sub(time.UnixMilli(d.oldest)).Seconds())
}

// confirm notes that the server has everything before a position, and forgets it.
func (d *destination) confirm(ctx context.Context, at log.Position) {
	d.mu.Lock()
	same := at == d.confirmed
	d.confirmed = at
	d.mu.Unlock()
	if same {
		return
	}
	err := statefile.Write(d.state, sent{at.Segment, at.Offset})
	if err == nil {
		err = d.log.Truncate(at)
	}
	if d.keeping.Note(ctx, err) {
		d.m.o.Logger.Warn("how far samples were sent by remote_write cannot be kept; after a restart they are sent again. Look at the disk", "destination", d.name, "file", d.state, "err", err)
	}
}

// use gives a destination settings. It has no sender that runs.
func (d *destination) use(r *config.RemoteWriteConfig, external labels.Labels) {
	n := &names{catalog: d.m.o.Catalog, toLabels: d.m.o.Labels, external: external, rules: r.WriteRelabelConfigs}
	n.forget()
	d.names.Store(n)
	d.sender = newSender(d, r, external)
}

// start runs the sender until ctx ends.
func (d *destination) start(ctx context.Context) {
	if d.cancel != nil {
		return
	}
	if err := d.sender.connect(); err != nil { // checked by Apply
		d.m.o.Logger.Error("a destination of remote_write has no client; correct its settings and load them again", "destination", d.name, "err", err)
		return
	}
	ctx, d.cancel = context.WithCancel(ctx)
	d.ended = make(chan struct{})
	go func() {
		defer close(d.ended)
		d.sender.run(ctx)
	}()
}

// stop ends the sender, and waits for it.
func (d *destination) stop() {
	if d.cancel != nil {
		d.cancel()
		<-d.ended
		d.cancel = nil
	}
}

func (d *destination) close() error { return d.log.Close() }

// dropNames forgets the names of series.
func (d *destination) dropNames() {
	if n := d.names.Load(); n != nil {
		n.forget()
	}
}

// signal puts one into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Package hatracker decides which replica of an HA pair of Prometheus servers is listened to: one of each
// cluster, until it has been silent for long. It knows no wire format and stores no samples.
package hatracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Book keeps who was elected, where all processes that share the tables see it.
type Book interface {
	Read(ctx context.Context, name string) (storage.ElectionEntry, error)
	Replace(ctx context.Context, name string, read storage.ElectionEntry, next storage.Election) (storage.ElectionEntry, bool, error)
	Forget(ctx context.Context, name string) error
}

// Options are the settings of a Tracker. DefaultOptions sets the numbers.
type Options struct {
	// ClusterLabel is --write.dedup.cluster-label: which pair a series comes from. Empty: nothing is
	// deduplicated.
	ClusterLabel string
	// ReplicaLabel is --write.dedup.replica-label: which server of the pair it comes from.
	ReplicaLabel string
	// Failover is --write.dedup.failover-timeout: how long the elected replica must have been silent
	// until another one is elected.
	Failover time.Duration
	// Clusters is --write.dedup.max-clusters: how many are known at once.
	Clusters int
}

// DefaultOptions are those of Cortex.
func DefaultOptions() Options { return Options{Failover: 30 * time.Second, Clusters: 1000} }

// Enabled reports whether anything is deduplicated.
func (o Options) Enabled() bool { return o.ClusterLabel != "" }

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	switch {
	case o.Failover < time.Second:
		return fmt.Errorf("--write.dedup.failover-timeout=%v: at least 1s", o.Failover)
	case o.Clusters < 1:
		return fmt.Errorf("--write.dedup.max-clusters=%d: at least 1", o.Clusters)
	case (o.ClusterLabel == "") != (o.ReplicaLabel == ""):
		return errors.New("--write.dedup.cluster-label and --write.dedup.replica-label need each other")
	case o.ClusterLabel == "":
		return nil
	case o.ClusterLabel == o.ReplicaLabel:
		return fmt.Errorf("--write.dedup.cluster-label and --write.dedup.replica-label are both %q", o.ClusterLabel)
	case o.ReplicaLabel == nameLabel || o.ClusterLabel == nameLabel:
		return fmt.Errorf("--write.dedup.cluster-label and --write.dedup.replica-label cannot be %s", nameLabel)
	}
	return nil
}

const nameLabel = "__name__"

const (
	// updateEvery is how often it is recorded that the elected replica was heard, as in Cortex, or half of
	// the failover timeout if that is shorter. Other processes learn it from there.
	updateEvery = 15 * time.Second
	// bookTimeout is how long an operation of the book may take.
	bookTimeout = 5 * time.Second
	// idle is how long a cluster has been silent that gives its place to another one.
	idle = 30 * time.Minute
	// maxName is how many bytes the name of a cluster or a replica may have.
	maxName = 1024
)

// Parts are what a Tracker works with.
type Parts struct {
	Book       Book
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Tracker elects the replicas. It is safe for concurrent use.
type Tracker struct {
	o       Options
	parts   Parts
	timing  timing
	reach   reach
	metrics *metrics

	mu        sync.RWMutex // guards what follows
	clusters  map[string]*cluster
	fullUntil time.Time // no cluster can be forgotten before
}

// New returns a Tracker that knows nothing but what is in the book.
func New(o Options, parts Parts) *Tracker {
	t := &Tracker{o: o, parts: parts, clusters: map[string]*cluster{}, reach: reach{longest: o.Failover}}
	t.timing = timing{failover: o.Failover, update: min(updateEvery, o.Failover/2)}
	t.metrics = newMetrics(parts.Registerer, t.known)
	return t
}

// Labels returns the labels that name clusters and replicas.
func (t *Tracker) Labels() (cluster, replica string) { return t.o.ClusterLabel, t.o.ReplicaLabel }

// Keep reports whether data of a replica are to be stored, and notes that they came; Done tells what
// became of those. An error that storage.IsRefusal tells is about this cluster alone, and is final. Others pass: nobody
// knows now who is elected, or (ErrWait) whether the one that is elected is silent.
func (t *Tracker) Keep(ctx context.Context, name, replica []byte) (bool, error) {
	if len(name) > maxName || len(replica) > maxName {
		return false, fmt.Errorf("%w: label %s or %s of more than %d bytes (--write.dedup)", storage.ErrInvalid, t.o.ClusterLabel, t.o.ReplicaLabel, maxName)
	}
	if !utf8.Valid(name) || !utf8.Valid(replica) { // such a series is not stored, so its cluster takes no place
		return false, fmt.Errorf("%w: label %s or %s is not UTF-8 (--write.dedup)", storage.ErrInvalid, t.o.ClusterLabel, t.o.ReplicaLabel)
	}
	c, err := t.cluster(ctx, name)
	if err != nil {
		return false, err
	}
	now := t.parts.Now()
	if v := c.judge(string(replica), now); v != unsure {
		return t.answer(c, v)
	}
	keep, err := t.elect(ctx, c, string(replica), now)
	if err != nil { // it is heard all the same, and sends again what nobody knew where to put
		c.done(string(replica), false, t.parts.Now())
	}
	return keep, err
}

// Done notes whether data of a replica that were kept have been stored. If not, it sends them again,
// and until then nothing is dropped that another replica sends.
func (t *Tracker) Done(name, replica []byte, stored bool) {
	t.mu.RLock()
	c := t.clusters[string(name)]
	t.mu.RUnlock()
	if c != nil {
		c.done(string(replica), stored, t.parts.Now())
	}
}

// cluster returns what is known of a cluster.
func (t *Tracker) cluster(ctx context.Context, name []byte) (*cluster, error) {
	t.mu.RLock()
	c := t.clusters[string(name)]
	t.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	c, dropped, err := t.add(string(name))
	if dropped != "" {
		t.forget(ctx, dropped)
	}
	return c, err
}

// add adds a cluster, if need be in the place of another one, which is returned.
func (t *Tracker) add(name string) (c *cluster, dropped string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c = t.clusters[name]; c != nil {
		return c, "", nil
	}
	now := t.parts.Now()
	if len(t.clusters) >= t.o.Clusters {
		if dropped = t.dropIdle(now); dropped == "" {
			return nil, "", fmt.Errorf("%w: more than %d values of label %s (--write.dedup.max-clusters)", storage.ErrLimit, t.o.Clusters, t.o.ClusterLabel)
		}
	}
	c = &cluster{name: name, timing: t.timing, reach: &t.reach, last: now}
	t.clusters[name] = c
	return c, dropped, nil
}

// dropIdle forgets the cluster that was silent for longest, if that is long, and returns its name.
func (t *Tracker) dropIdle(now time.Time) string {
	if now.Before(t.fullUntil) {
		return ""
	}
	var longest *cluster
	for _, c := range t.clusters {
		if longest == nil || c.lastData().Before(longest.lastData()) {
			longest = c
		}
	}
	if t.fullUntil = longest.lastData().Add(idle); now.Before(t.fullUntil) {
		return ""
	}
	delete(t.clusters, longest.name)
	return longest.name
}

// forget removes the record of a cluster unless another process hears of it.
func (t *Tracker) forget(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, bookTimeout)
	defer cancel()
	entry, err := t.parts.Book.Read(ctx, name)
	if err == nil && t.parts.Now().Sub(time.UnixMilli(entry.Heard)) >= idle {
		err = t.parts.Book.Forget(ctx, name)
	}
	if err != nil {
		t.metrics.failures.Inc()
	}
}

func (t *Tracker) known() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.clusters)
}

// A Pair is what is known of a cluster.
type Pair struct {
	Cluster   string    `json:"cluster"`
	Elected   string    `json:"elected"`
	Since     time.Time `json:"since"`
	LastHeard time.Time `json:"lastHeard"`
	// Dropped is how often data of other replicas came since this process was started.
	Dropped int64 `json:"dropped"`
}

// Pairs returns all known clusters, sorted by name.
func (t *Tracker) Pairs() []Pair {
	t.mu.RLock()
	defer t.mu.RUnlock()
	pairs := make([]Pair, 0, len(t.clusters))
	for _, c := range t.clusters {
		pairs = append(pairs, c.pair())
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return strings.Compare(a.Cluster, b.Cluster) })
	return pairs
}

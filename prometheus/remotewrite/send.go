package remotewrite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage/remote"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// A sender sends what is in the spool of a destination, by some settings.
type sender struct {
	d        *destination
	config   *config.RemoteWriteConfig
	external labels.Labels
	client   remote.WriteClient

	outcome   retry.Outcome // of requests
	reading   retry.Outcome // of the spool and the names
	metadata  map[string]storage.Metadata
	described time.Time   // when the metadata were asked for
	failing   atomic.Bool // requests
}

// newSender makes a sender with its client, which opens no connection yet. The destination is the one that uses it.
func newSender(name string, r *config.RemoteWriteConfig, external labels.Labels) (*sender, error) {
	client, err := remote.NewWriteClient(name, &remote.ClientConfig{
		URL: r.URL, WriteProtoMsg: r.ProtobufMessage, Timeout: r.RemoteTimeout, HTTPClientConfig: r.HTTPClientConfig,
		SigV4Config: r.SigV4Config, AzureADConfig: r.AzureADConfig, GoogleIAMConfig: r.GoogleIAMConfig,
		Headers: r.Headers, RetryOnRateLimit: true, RoundRobinDNS: r.RoundRobinDNS,
	})
	if err != nil {
		return nil, fmt.Errorf("remote_write: %s: %w", name, err)
	}
	if c, ok := client.(*remote.Client); ok {
		c.Client.Transport = answerKeeper{c.Client.Transport}
		c.Client.CheckRedirect = keepMethod(c.Client.CheckRedirect)
	}
	return &sender{config: r, external: external, client: client}, nil
}

// keepMethod follows redirects that send a request as it is. After others, such as that to a page to log in,
// a GET without samples would be asked, and its 200 would be taken for theirs.
func keepMethod(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		switch {
		case r.Method != via[0].Method:
			return http.ErrUseLastResponse
		case next != nil:
			return next(r, via)
		case len(via) >= 10:
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context) {
	q := s.config.QueueConfig
	r := &round{shards: make([][]item, q.MaxShards), next: s.d.spool.Position()}
	for ctx.Err() == nil {
		ok := retry.Until(ctx, s.pauses(), func() bool {
			err := s.round(ctx, r)
			if s.reading.Note(ctx, err) {
				s.d.m.o.Logger.WarnContext(ctx, "samples for a destination of remote_write cannot be read from the spool or named; they are kept and tried again", "destination", s.d.name, "err", err)
			}
			return err == nil
		})
		if !ok {
			return
		}
	}
}

func (s *sender) pauses() retry.Pauses {
	q := s.config.QueueConfig
	return retry.Pauses{First: time.Duration(q.MinBackoff), Longest: max(time.Duration(q.MaxBackoff), time.Duration(q.MinBackoff))}
}

// round reads some of the spool, sends it, and confirms it.
func (s *sender) round(ctx context.Context, r *round) error {
	r.reset()
	r.next = s.d.spool.Position()
	if err := s.gather(ctx, r); err != nil {
		if errors.Is(err, log.ErrCorrupt) {
			return s.skipDamage(ctx, r.next, err)
		}
		return err
	}
	s.describe(ctx)
	if err := s.sendRound(ctx, r); err != nil {
		return err
	}
	s.d.confirm(ctx, r.next)
	return nil
}

// gather reads a round. It waits until there is a request's worth, or something has waited long enough.
func (s *sender) gather(ctx context.Context, r *round) error {
	var deadline <-chan time.Time
	for {
		more, err := s.read(ctx, r)
		if r.entries > 0 && errors.Is(err, log.ErrCorrupt) {
			return nil // what stands before the damage is sent first
		}
		if err != nil || more || r.entries >= s.config.QueueConfig.MaxSamplesPerSend {
			return err
		}
		if r.entries == 0 {
			s.d.spool.Reading(0)
			s.d.confirm(ctx, r.next) // what there was is not sent
		} else if deadline == nil {
			timer := time.NewTimer(time.Duration(s.config.QueueConfig.BatchSendDeadline))
			defer timer.Stop()
			deadline = timer.C
		}
		select {
		case <-s.d.spool.Grown():
		case <-deadline:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// skipDamage gives up what cannot be read after a position, and goes on behind it.
func (s *sender) skipDamage(ctx context.Context, at log.Position, damage error) error {
	next, lost, err := s.d.spool.Beyond(at)
	if err != nil {
		return err
	}
	s.d.m.o.Logger.ErrorContext(ctx, "the spool is damaged, and samples in it are not sent; copy this time from the store, and look at the disk", "destination", s.d.name, "bytes", lost, "err", damage)
	s.d.metrics.drop(dropDamage, 1)
	s.d.confirm(ctx, next)
	return nil
}

// sendRound sends the shards of a round. Some of them at once, so many as its entries need.
func (s *sender) sendRound(ctx context.Context, r *round) error {
	q := s.config.QueueConfig
	at := (r.entries + q.MaxSamplesPerSend - 1) / q.MaxSamplesPerSend
	at = max(q.MinShards, min(at, q.MaxShards))
	s.d.metrics.shards.Set(float64(at))
	group, ctx := errgroup.WithContext(ctx)
	for n := range at {
		// The entries of a series are in one list, and so in one goroutine.
		var items []item
		for i := n; i < len(r.shards); i += at {
			items = append(items, r.shards[i]...)
		}
		group.Go(func() error { return s.sendItems(ctx, items) })
	}
	return group.Wait()
}

// sendItems sends items in order.
func (s *sender) sendItems(ctx context.Context, items []item) error {
	e := encoder{s: s, metadata: s.metadata, starts: startsOf(items)}
	items = s.wanted(items)
	for some := range slices.Chunk(items, s.config.QueueConfig.MaxSamplesPerSend) {
		r, err := e.encode(some)
		if err != nil {
			return fmt.Errorf("encode: %w", err) // never: there is nothing that cannot be written
		}
		if r.samples+r.histograms+r.exemplars == 0 {
			continue
		}
		if err := s.post(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// wanted leaves out what the settings do not send, and start times, which go with their samples.
func (s *sender) wanted(items []item) []item {
	return slices.DeleteFunc(items, func(it item) bool {
		switch it.kind {
		case storage.KindStartTime:
			return true
		case storage.KindExemplar:
			return !s.config.SendExemplars
		case storage.KindHistogram:
			return !s.config.SendNativeHistograms && s.config.ProtobufMessage != remoteapi.WriteV2MessageType
		}
		return false
	})
}

// post sends a request, again and again until the server has taken or refused it, or ctx ends.
func (s *sender) post(ctx context.Context, r request) error {
	attempt := 0
	ok := retry.Until(ctx, s.pauses(), func() bool {
		begun, got := time.Now(), answer{}
		stats, err := s.client.Store(context.WithValue(ctx, answerKey{}, &got), r.body, attempt)
		s.d.metrics.took.Observe(time.Since(begun).Seconds())
		attempt++
		if err == nil {
			err = s.checkVersion(stats)
		}
		switch {
		case err == nil:
			s.recovered(ctx)
			s.settle(ctx, r, s.taken(r, stats, r), errInPart)
			return true
		case ctx.Err() != nil:
			return false
		case final(got.status):
			s.settle(ctx, r, s.taken(r, stats, request{}), err)
			return true
		}
		s.d.metrics.retried.Inc()
		if s.outcome.Note(ctx, err) && !s.failing.Swap(true) {
			s.d.m.o.Logger.WarnContext(ctx, "a destination of remote_write takes no samples, which wait in the spool; its answer has the reason", "destination", s.d.name, "err", err)
		}
		got.pause(ctx)
		return false
	})
	if !ok {
		return ctx.Err()
	}
	return nil
}

var (
	errNotV2  = errors.New("the answer does not tell what was written: the server takes remote write 1.0 only; set protobuf_message to prometheus.WriteRequest")
	errInPart = errors.New("it answered that it has written less than it was sent")
)

// checkVersion refuses the good answer of a server that does not know remote write 2.0 and has read nothing.
func (s *sender) checkVersion(stats remote.WriteResponseStats) error {
	if s.config.ProtobufMessage == remoteapi.WriteV2MessageType && !stats.Confirmed {
		return errNotV2
	}
	return nil
}

// taken returns what the server has written of a request. Without numbers in its answer, it is as much as is given.
func (s *sender) taken(r request, stats remote.WriteResponseStats, otherwise request) request {
	if s.config.ProtobufMessage != remoteapi.WriteV2MessageType || !stats.Confirmed {
		return otherwise
	}
	return request{samples: min(r.samples, stats.Samples), histograms: min(r.histograms, stats.Histograms), exemplars: min(r.exemplars, stats.Exemplars)}
}

// settle counts what the server has written of a request, and what it has not, which is not sent again.
func (s *sender) settle(ctx context.Context, r, written request, why error) {
	s.d.metrics.sent(request{r.body, written.samples, written.histograms, written.exemplars})
	samples, histograms, exemplars := r.samples-written.samples, r.histograms-written.histograms, r.exemplars-written.exemplars
	if samples+histograms+exemplars == 0 {
		return
	}
	s.d.metrics.drop(dropRefused, samples+histograms+exemplars)
	s.d.m.o.Logger.WarnContext(ctx, "a destination of remote_write refuses samples, which are not sent again; its answer has the reason",
		"destination", s.d.name, "samples", samples, "histograms", histograms, "exemplars", exemplars, "err", why)
}

// recovered notes that the server takes samples.
func (s *sender) recovered(ctx context.Context) {
	if s.failing.Swap(false) {
		s.outcome.Set(nil)
		s.d.m.o.Logger.InfoContext(ctx, "a destination of remote_write takes samples again", "destination", s.d.name, "bytes", s.d.spool.Waiting())
	}
}

// final reports whether an answer is about what was sent. Any other failure passes, or is put right by an
// operator (an address, a password), and nothing is lost until then.
func final(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// describe asks for the metadata from time to time, and sends them by remote write 1.0. Failures are tried
// again the next time.
func (s *sender) describe(ctx context.Context) {
	c, now := s.config.MetadataConfig, s.d.m.o.Now()
	if !c.Send || now.Sub(s.described) < time.Duration(c.SendInterval) {
		return
	}
	s.described = now
	all, err := s.d.m.o.Metadata.Metadata(ctx)
	if err != nil {
		return
	}
	s.metadata = all
	if s.config.ProtobufMessage == remoteapi.WriteV2MessageType {
		return
	}
	requests, err := metadataRequests(all, nameOfMetric(s.d.m.o.Labels), c.MaxSamplesPerSend)
	for _, r := range requests {
		if err == nil {
			_, err = s.client.Store(ctx, r.body, 0)
		}
	}
}

package remotewrite

import (
	"context"
	"errors"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/log"
)

const (
	// roundEntries and roundBytes bound what is sent between two confirmations, and held in memory.
	roundEntries = 200_000
	roundBytes   = 32 << 20
)

// A round is what is read from a spool and sent before its end is confirmed.
type round struct {
	shards  [][]item // each is sent in order
	entries int
	bytes   int
	next    log.Position // after it
}

// An item is an entry of a target.
type item struct {
	*target
	entry
}

var errRoundFull = errors.New("the round is full")

// read adds what the spool has to a round, until it is full. It reports whether the spool has more.
func (s *sender) read(ctx context.Context, r *round) (more bool, err error) {
	err = s.d.spool.Tail(ctx, r.next, func(record []byte, next log.Position) error {
		if err := s.add(ctx, r, record); err != nil {
			return err
		}
		r.next = next
		if r.entries >= s.most() || r.bytes >= roundBytes {
			return errRoundFull
		}
		return nil
	})
	if errors.Is(err, errRoundFull) {
		return true, nil
	}
	return false, err
}

// most is how many entries a round takes.
func (s *sender) most() int {
	q := s.config.QueueConfig
	return min(q.MaxShards*q.MaxSamplesPerSend, roundEntries)
}

// add adds a record to a round. One that cannot be read is passed over, and counted.
func (s *sender) add(ctx context.Context, r *round, record []byte) error {
	tsuids, entries, err := decodeRecord(record)
	if err != nil {
		s.d.m.o.Logger.ErrorContext(ctx, "a record of the spool cannot be read and is skipped; copy what it held from the store", "destination", s.d.name, "err", err)
		s.d.metrics.drop(dropDamage, 1)
		return nil
	}
	targets, err := s.d.names.Load().of(ctx, tsuids)
	if err != nil {
		return err
	}
	if came, err := cameAt(record); err == nil && r.entries == 0 {
		s.d.spool.Reading(came)
	}
	oldest := s.oldest()
	for _, e := range entries {
		t := targets[e.series]
		switch {
		case t == nil:
			s.d.metrics.drop(dropUnnamed, 1)
		case t.drop:
			s.d.metrics.drop(dropRelabel, 1)
		case e.time < oldest:
			s.d.metrics.drop(dropAge, 1)
		default:
			at := t.hash % uint64(len(r.shards))
			r.shards[at] = append(r.shards[at], item{t, e})
			r.entries++
			r.bytes += 64 + len(e.data)
		}
	}
	return nil
}

// oldest is the time before which samples are not sent.
func (s *sender) oldest() int64 {
	limit := time.Duration(s.config.QueueConfig.SampleAgeLimit)
	if limit == 0 {
		return 0
	}
	return s.d.m.o.Now().Add(-limit).UnixMilli()
}

func (r *round) reset() {
	for i := range r.shards {
		clear(r.shards[i])
		r.shards[i] = r.shards[i][:0]
	}
	r.entries, r.bytes = 0, 0
}

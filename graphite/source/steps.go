package source

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage"
)

// SeriesMeta keeps a text under a key with a series, where other processes and a TSD's API find it
// too. documents.Documents is one.
type SeriesMeta interface {
	SeriesCustom(ctx context.Context, refs []storage.Ref, key string) ([]string, error)
	SetSeriesCustom(ctx context.Context, key string, edits []storage.CustomEdit) error
}

const (
	// stepKey is the key in the custom map of TSMeta documents, the value being seconds.
	stepKey = "step"
	// defaultStep is carbon's step for names that no rule matches, and ours for series of a single
	// point.
	defaultStep = 60
	// greatestStep bounds what is taken for a step: a week.
	greatestStep = 7 * 86400
)

const (
	// maxSteps bounds a generation of the series whose steps are remembered.
	maxSteps = 500_000
	// stepFresh is how long a step is used before the document is read again: it may have been
	// edited.
	stepFresh = 15 * time.Minute
	// guessFresh is how long a series of too few points is not looked at again.
	guessFresh = 10 * time.Second
	// maxKeeps bounds the steps that wait to be written. Others are written when they are used
	// again.
	maxKeeps = 20_000
)

// steps knows the steps of series that no rule matches: from their TSMeta documents, else from
// their points. Safe for concurrent use.
type steps struct {
	series SeriesMeta
	reader reader
	now    func() time.Time
	logger *slog.Logger
	known  *cache.LRU[storage.Ref, knownStep]
	keeps  chan keep
}

// A knownStep is what is remembered of a series.
type knownStep struct {
	seconds int64
	guess   bool      // from too few points: for a while only
	checked time.Time // when the document or the points were looked at
}

func newSteps(o Options, r reader) *steps {
	return &steps{
		series: o.Documents, reader: r, now: o.Now, logger: o.Logger,
		known: cache.NewLRU[storage.Ref, knownStep](maxSteps), keeps: make(chan keep, maxKeeps),
	}
}

// of returns the steps of series in seconds. It infers unknown steps from the points in a window.
func (s *steps) of(ctx context.Context, refs []storage.Ref, w span) (map[storage.Ref]int64, error) {
	found := make(map[storage.Ref]int64, len(refs))
	var unknown []storage.Ref
	for _, ref := range refs {
		if k, ok := s.recall(ref); ok {
			found[ref] = k
		} else if _, twice := found[ref]; !twice {
			found[ref] = defaultStep
			unknown = append(unknown, ref)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	values, err := s.series.SeriesCustom(ctx, unknown, stepKey)
	if err != nil {
		return nil, err
	}
	var silent []storage.Ref
	for i, ref := range unknown {
		if seconds, ok := parseStep(values[i]); ok {
			found[ref] = seconds
			s.known.Put(ref, knownStep{seconds: seconds, checked: s.now()})
			continue
		}
		silent = append(silent, ref)
	}
	return found, s.learn(ctx, silent, w, found)
}

// recall returns what is remembered and not too old. A step that was not checked for long is used
// once more, and checked after the answer.
func (s *steps) recall(ref storage.Ref) (int64, bool) {
	k, ok := s.known.Get(ref)
	if !ok {
		return 0, false
	}
	age := s.now().Sub(k.checked)
	if k.guess {
		return k.seconds, age < guessFresh
	}
	if age >= stepFresh {
		k.checked = s.now()
		s.known.Put(ref, k)
		s.keep(keep{ref: ref})
	}
	return k.seconds, true
}

// parseStep reads a step as a document has it.
func parseStep(text string) (int64, bool) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	return seconds, err == nil && seconds > 0 && seconds <= greatestStep
}

// learn infers the steps of series from their points.
func (s *steps) learn(ctx context.Context, refs []storage.Ref, w span, found map[storage.Ref]int64) error {
	if len(refs) == 0 {
		return nil
	}
	inferred, err := inferSteps(ctx, s.reader, refs, w)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		seconds, ok := inferred.found[ref]
		if !ok {
			if guess, some := inferred.guessed[ref]; some {
				found[ref] = guess
			}
			s.known.Put(ref, knownStep{seconds: found[ref], guess: true, checked: s.now()})
			continue
		}
		found[ref] = seconds
		s.known.Put(ref, knownStep{seconds: seconds, checked: s.now()})
		s.keep(keep{ref: ref, write: true})
	}
	return nil
}

// keep queues a step to be settled after the answer. When the queue is full, the step waits until
// the series is used again.
func (s *steps) keep(k keep) {
	select {
	case s.keeps <- k:
	default:
	}
}

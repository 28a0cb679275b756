package read_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// partsLog is what the workers of one SelectParts did.
type partsLog struct {
	committed  atomic.Int64 // series
	committing atomic.Int32
	failTake   int // series of the part in which Take fails; -1: never
	failCommit int
}

type logWorker struct {
	*partsLog
	t    *testing.T
	part storage.Part
}

var errWorker = errors.New("the worker has had enough")

func (w *logWorker) Take(_ context.Context, p storage.Part) error {
	if w.part = p; p.From <= w.failTake && w.failTake < p.From+len(p.Points) {
		return errWorker
	}
	return nil
}

func (w *logWorker) Commit(context.Context) error {
	if w.committing.Add(1) != 1 {
		w.t.Error("two workers commit at once")
	}
	defer w.committing.Add(-1)
	if w.part.From <= w.failCommit && w.failCommit < w.part.From+len(w.part.Points) {
		return errWorker
	}
	if !w.committed.CompareAndSwap(int64(w.part.From), int64(w.part.From+len(w.part.Points))) {
		w.t.Errorf("the part from series %d on is committed after %d series", w.part.From, w.committed.Load())
	}
	return nil
}

// An error of a worker, at any part, ends the reading, and no later part is committed. That holds
// with a turn for each worker and with one for all.
func TestSelectPartsFails(t *testing.T) {
	const n = 700
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	q := storage.Query{Refs: hosts(t, s, n, 1), Start: t0, End: t0 + 3600_000, Samples: true, PartSeries: 50}
	for _, parallel := range []int{1, 8} {
		for fail := -1; fail < n; fail += 37 {
			for _, inCommit := range []bool{false, true} {
				log := &partsLog{failTake: fail, failCommit: -1}
				if inCommit {
					log.failTake, log.failCommit = -1, fail
				}
				turn, err := query.NewTurns(parallel).Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				err = s.SelectParts(query.WithTurn(t.Context(), turn), q, func() storage.PartWorker { return &logWorker{partsLog: log, t: t} })
				turn.End()
				switch done := log.committed.Load(); {
				case fail < 0 && (err != nil || done != n):
					t.Errorf("%d series of %d, %v", done, n, err)
				case fail >= 0 && (!errors.Is(err, errWorker) || done > int64(fail)):
					t.Errorf("failure at %d: %v after %d series", fail, err, done)
				}
			}
		}
	}
}

// A failure of the engine, at any row, ends the reading with its error, and so does the end of the
// context or a limit.
func TestSelectPartsErrors(t *testing.T) {
	const n = 600
	db := kv.NewMem(storetest.Tables()...)
	b := &broken{KV: db, err: errors.New("region on fire")}
	s := storetest.Open(t, b)
	refs := hosts(t, s, n, 2)
	read := func(ctx context.Context, limit int) (int64, error) {
		log := &partsLog{failTake: -1, failCommit: -1}
		q := storage.Query{Refs: refs, Start: t0, End: t0 + 7200_000, Samples: true, MaxSamples: limit, PartSeries: 50}
		err := s.SelectParts(ctx, q, func() storage.PartWorker { return &logWorker{partsLog: log, t: t} })
		return log.committed.Load(), err
	}
	for rows := 0; rows < 2*n; rows += 97 {
		b.armed, b.rows = true, rows
		if done, err := read(t.Context(), 0); !errors.Is(err, b.err) || done == n {
			t.Errorf("failure after %d rows: %v after %d series", rows, err, done)
		}
	}
	b.armed = false
	for limit, want := range map[int]error{2 * n: nil, 2*n - 1: storage.ErrLimit, 10: storage.ErrLimit} {
		if done, err := read(t.Context(), limit); !errors.Is(err, want) || (err == nil) != (done == n) {
			t.Errorf("limit %d: %v, %d series", limit, err, done)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Nothing is committed of a query that asks for nothing.
func TestSelectPartsOfNothing(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	refs := hosts(t, s, 3, 1)
	for _, q := range []storage.Query{{}, {Refs: refs, Start: 5, End: 4}} {
		err := s.SelectParts(t.Context(), q, func() storage.PartWorker { return &logWorker{partsLog: &partsLog{}, t: t} })
		if err != nil {
			t.Error(fmt.Sprint(q), err)
		}
	}
}

// Few series over a long range are worth several workers on a local engine, and not over a short one.
func TestSelectPartsOfFewSeries(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	db, _ := engines(t)["pebble"]()
	s := storetest.Open(t, db)
	refs := hosts(t, s, 20, 6)
	for end, want := range map[int64]int{t0 + 6*3600_000: 2, t0 + 300_000: 1} {
		workers, log := 0, &partsLog{failTake: -1, failCommit: -1}
		err := s.SelectParts(t.Context(), storage.Query{Refs: refs, Start: t0, End: end, Samples: true}, func() storage.PartWorker {
			workers++
			return &logWorker{partsLog: log, t: t}
		})
		if err != nil || workers != want {
			t.Errorf("until %d: %d workers, want %d; %v", end, workers, want, err)
		}
	}
}

// Rows of a cluster that one request can ask for are not asked for by several.
func TestSelectPartsAsksOnce(t *testing.T) {
	for _, c := range []struct {
		series, hours int
		want          int64 // requests at most
	}{{100, 1, 1}, {60, 2, 1}, {128, 1, 1}, {400, 1, 4}, {300, 5, 12}} {
		db := newCluster(favourites["rows"])
		s, refs := wide(t, db, c.series, c.hours, 0, 0)
		q := storage.Query{Refs: refs, Start: t0, End: t0 + int64(c.hours)*3600_000 - 1, Samples: true}
		points, err := readParts(t.Context(), s, q)
		if gets := db.gets.Load(); err != nil || points != c.series*c.hours || gets > c.want {
			t.Errorf("%d series of %d hours: %d points, %v, %d requests, want at most %d", c.series, c.hours, points, err, gets, c.want)
		}
	}
}

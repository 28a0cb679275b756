package log_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// syncTime is how long a sync of slowDisk takes, in the time of a synctest bubble.
const syncTime = time.Millisecond

// slowDisk returns a disk whose syncs take syncTime, and the count of them.
func slowDisk() (disk *logtest.Disk, syncs *atomic.Int64) {
	syncs, disk = new(atomic.Int64), logtest.New(1)
	disk.SetBefore(func(op logtest.Op, _ string) error {
		if op == logtest.OpSyncData {
			syncs.Add(1)
			time.Sleep(syncTime)
		}
		return nil
	})
	return disk, syncs
}

// roomy returns options with groups of 512 bytes and large segments.
func roomy(fs log.FS) log.Options {
	opts := small(fs)
	opts.SegmentBytes, opts.MaxBytes = 1<<20, 1<<30
	return opts
}

// client appends records one after the other, each a while after the one before, and returns how
// long the slowest took.
func client(t *testing.T, l *log.Log, records int, pause func() time.Duration) (slowest time.Duration) {
	for range records {
		begin := time.Now()
		if _, err := l.Append(t.Context(), []byte("record")); err != nil {
			t.Error(err)
		}
		slowest = max(slowest, time.Since(begin))
		time.Sleep(pause())
	}
	return slowest
}

// TestClientsShareSyncs: callers that come back soon share each sync, all of them.
func TestClientsShareSyncs(t *testing.T) {
	for _, clients := range []int{2, 3, 4, 16} {
		t.Run(fmt.Sprint(clients), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk, syncs := slowDisk()
				l := open(t, roomy(disk))
				const records = 200
				var group sync.WaitGroup
				for i := range clients {
					rng := rand.New(rand.NewPCG(1, uint64(i)))
					group.Go(func() {
						client(t, l, records, func() time.Duration { return syncTime/10 + time.Duration(rng.Int64N(int64(syncTime/2))) })
					})
				}
				group.Wait()
				if syncs.Load() > records+records/10 {
					t.Errorf("%d syncs for %d records of each of %d callers", syncs.Load(), records, clients)
				}
			})
		})
	}
}

// TestAloneDoesNotWait: a record of a caller that is alone takes one sync, also after others have
// left it alone.
func TestAloneDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, _ := slowDisk()
		l := open(t, roomy(disk))
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { client(t, l, 20, func() time.Duration { return syncTime / 4 }) })
		}
		group.Wait()
		first := client(t, l, 1, func() time.Duration { return 0 })
		if first > 3*syncTime {
			t.Errorf("the first record without the others took %v", first)
		}
		if rest := client(t, l, 100, func() time.Duration { return syncTime / 4 }); rest != syncTime {
			t.Errorf("a record of a caller that is alone took %v, want %v", rest, syncTime)
		}
	})
}

// TestVainWaits: two callers meet at each sync, but come back long after it. Nearly no record waits
// for another one.
func TestVainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, _ := slowDisk()
		l := open(t, roomy(disk))
		const rounds = 1000
		var waited time.Duration
		for range rounds {
			var group sync.WaitGroup
			group.Go(func() { client(t, l, 1, func() time.Duration { return 0 }) })
			time.Sleep(syncTime / 2)
			group.Go(func() { waited += client(t, l, 1, func() time.Duration { return 0 }) - syncTime*3/2 })
			group.Wait()
			time.Sleep(20 * syncTime)
		}
		if most := 2 * syncTime * (rounds/256 + 10); waited > most {
			t.Errorf("%d records waited %v for others in vain, want at most %v", rounds, waited, most)
		}
	})
}

// TestWaitEnds: a group that waits for more records is written when its caller gives up, when it is
// full, and when the log is closed.
func TestWaitEnds(t *testing.T) {
	for _, how := range []string{"time", "context", "full", "close"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk, syncs := slowDisk()
				l, err := log.Open(roomy(disk))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				group := appendAndWait(ctx, t, l, syncs)
				begin := time.Now()
				switch how {
				case "context":
					cancel()
				case "full":
					add(t, l, make([]byte, 450)) // groups have 512 bytes
				}
				if how != "close" {
					group.Wait()
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				group.Wait()
				if took := time.Since(begin); how == "context" && took != syncTime || took > 4*syncTime {
					t.Errorf("it took %v", took)
				}
				if entries, err := replay(t, open(t, roomy(disk.Kill(1))), log.Position{}); err != nil || len(entries) < 31 {
					t.Errorf("replayed %d records, %v; want 31 or more", len(entries), err)
				}
			})
		})
	}
}

// appendAndWait has three callers append, and then a single one. It returns when the group of the
// single one waits for more records; the returned group of goroutines ends with its Append. Where
// the last of the three waited in vain for the others, the single one does not wait; then they
// begin again.
func appendAndWait(ctx context.Context, t *testing.T, l *log.Log, syncs *atomic.Int64) *sync.WaitGroup {
	t.Helper()
	for range 100 {
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { client(t, l, 10, func() time.Duration { return syncTime / 4 }) })
		}
		group.Wait()
		before := syncs.Load()
		group.Go(func() {
			if _, err := l.Append(ctx, make([]byte, 100)); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		if syncs.Load() == before {
			return &group
		}
		group.Wait()
	}
	t.Fatal("no group waited")
	return nil
}

// TestCallersThatGiveUp appends from callers that come, pause and give up at random, and wants
// every record back whose Append has returned.
func TestCallersThatGiveUp(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			disk, _ := slowDisk()
			l, err := log.Open(roomy(disk))
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			acknowledged := map[string]bool{}
			var group sync.WaitGroup
			for c := range 6 {
				rng := rand.New(rand.NewPCG(seed, uint64(c)))
				group.Go(func() {
					for n := range 100 {
						record := fmt.Sprintf("%d of caller %d %s", n, c, make([]byte, rng.IntN(200)))
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(8*syncTime))))
						if _, err := l.Append(ctx, []byte(record)); err == nil {
							mu.Lock()
							acknowledged[record] = true
							mu.Unlock()
						}
						cancel()
						time.Sleep(time.Duration(rng.Int64N(int64(2 * syncTime))))
					}
				})
			}
			group.Wait()
			entries, err := replay(t, open(t, roomy(disk.Kill(seed))), log.Position{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				delete(acknowledged, string(e.record))
			}
			if len(acknowledged) > 0 {
				t.Errorf("seed %d: %d acknowledged records are lost", seed, len(acknowledged))
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

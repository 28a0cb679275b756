package pebble

import (
	"errors"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// startQuiet is how long no compaction begins after a store with data was opened. A store that
	// was loaded shortly before its end leaves seconds of compactions, which would compete with the
	// first reads: those of the names, the series and the trees.
	startQuiet = 5 * time.Second
	// grantInterval is the interval between two looks for compactions that may begin.
	grantInterval = 100 * time.Millisecond
	// firstPause is how long no compaction begins after one that failed, and longestPause how long at
	// most: each failure without a success in between doubles the pause. Pebble itself tries again
	// at once, which keeps a core busy for as long as the reason lasts, such as a deleted folder.
	firstPause, longestPause = 200 * time.Millisecond, time.Minute
)

// scheduler decides when compactions begin: as many at once as Pebble's limits allow, and none
// while it holds them back. It implements pebble.CompactionScheduler.
type scheduler struct {
	poke      chan struct{} // a compaction may begin
	end, done chan struct{} // of grants

	mu      sync.Mutex // guards all below
	db      pebble.DBForCompaction
	running int
	held    bool
	ended   bool
	pause   time.Duration // the last one; 0: the last compaction did not fail
	until   time.Time     // of the pause
}

func newScheduler(held bool) *scheduler {
	return &scheduler{poke: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{}), held: held}
}

// hold lets no further compaction begin. A nil scheduler has none.
func (s *scheduler) hold() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// release ends what hold began.
func (s *scheduler) release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.held = false
	s.mu.Unlock()
	s.UpdateGetAllowedWithoutPermission()
}

// compacted notes the end of a compaction; err is why it failed. A nil scheduler has none.
func (s *scheduler) compacted(err error) {
	if s == nil || errors.Is(err, pebble.ErrCancelledCompaction) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.pause = 0
		return
	}
	s.pause = min(max(2*s.pause, firstPause), longestPause)
	s.until = time.Now().Add(s.pause)
}

// Register implements pebble.CompactionScheduler.
func (s *scheduler) Register(_ int, db pebble.DBForCompaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db = db
	go s.grants(s.held)
}

// Unregister implements pebble.CompactionScheduler. It returns when no grant is under way.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	close(s.end)
	<-s.done
}

// grants lets waiting compactions begin until Unregister. If they are held at first, it releases
// them after startQuiet.
func (s *scheduler) grants(held bool) {
	defer close(s.done)
	ticker := time.NewTicker(grantInterval)
	defer ticker.Stop()
	var quiet <-chan time.Time
	if held {
		quiet = time.After(startQuiet)
	}
	for {
		select {
		case <-s.end:
			return
		case <-quiet:
			s.release()
		case <-ticker.C:
		case <-s.poke:
		}
		for s.grant() {
		}
	}
}

// grant lets one waiting compaction begin; false if none may or wants to.
func (s *scheduler) grant() bool {
	if !s.begin() {
		return false
	}
	if waits, _ := s.db.GetWaitingCompaction(); waits && s.db.Schedule(s) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	return false
}

// begin counts a compaction as running, if it may begin.
func (s *scheduler) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.held || s.pause > 0 && time.Now().Before(s.until) || s.running >= s.db.GetAllowedWithoutPermission() {
		return false
	}
	s.running++
	return true
}

// TrySchedule implements pebble.CompactionScheduler.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if !s.begin() {
		return false, nil
	}
	return true, s
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Done implements pebble.CompactionGrantHandle.
func (s *scheduler) Done() {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	s.UpdateGetAllowedWithoutPermission()
}

// Started implements pebble.CompactionGrantHandle.
func (s *scheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (s *scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (s *scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// buffer is the buffered way of a point: it is durable when its record is in the log, is read from
// the head, and reaches the table with its whole row. After a crash the log is replayed into the
// head.
type buffer struct {
	o       BufferOptions
	logger  *slog.Logger
	log     *log.Log
	numbers seriesNumbers
	head    *head.Head
	// of what is in the head; nil: no other process writes to the table
	ages    *ages
	marks   logMarks              // kept when some writes do not go through the log
	mixed   bool                  // they do not
	ready   chan struct{}         // closed when the log is replayed
	refusal atomic.Pointer[error] // of the last append; nil: it was taken
	lost    atomic.Bool           // the engine could not be told where the log ends
	full    atomic.Bool           // more waits in memory than the head may hold
	scarce  atomic.Bool           // a deletion needs what space is left for the log
	jobs    sync.Pool             // *bufferJob
	metrics *bufferMetrics
	known   logEnd
	lineage lineage
	now     func() time.Time
	late    func(context.Context, *storage.Batch) error // see Options.Late

	// when roll last began a file, and where; guarded by Flusher.mu
	rolled   time.Time
	rolledTo log.Position

	mu      sync.Mutex     // guards pending
	pending map[uint64]int // appends and deletions under way, by the first segment that they need
}

// openBuffer opens the logs of a store.
func openBuffer(s *Options, stamps *stampClock) (*buffer, error) {
	o := s.Buffer
	if o.FS == nil {
		o.FS = log.OS{}
	}
	headOptions := head.Options{Values: s.Values, Now: s.Now}
	if s.Days != nil {
		headOptions.Began = s.Days.Began
	}
	b := &buffer{
		o: o, logger: s.Logger, now: s.Now, late: s.Late, ready: make(chan struct{}), pending: map[uint64]int{},
		head:    head.New(headOptions),
		numbers: seriesNumbers{index: s.Series, registry: s.registryOfLog()}, mixed: s.Mode != Buffered,
	}
	if s.DB.Versioned != nil {
		b.ages = newAges(stamps)
	}
	b.known.open(s.DB.LogKeeper(), o.atLeast())
	b.lineage.open(b, s.DB.LogKeeper(), o.State)
	b.jobs.New = func() any { return &bufferJob{} }
	b.metrics = newBufferMetrics(s.Registerer, b)
	if err := b.openLogs(s); err != nil {
		return nil, err
	}
	if err := b.lineage.begin(); err != nil && !errors.Is(err, storage.ErrFull) && b.waits() == nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *buffer) openLogs(s *Options) (err error) {
	points, numbers := b.logOptions("points", s, b.o.MaxLogBytes), b.logOptions("series", s, 0)
	if err = b.lineage.dropEnded(&points, &numbers); err != nil {
		return fmt.Errorf("remove a log that was ended: %w", err)
	}
	if b.log, err = log.Open(points); err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	if b.numbers.log, err = log.Open(numbers); err != nil {
		return errors.Join(fmt.Errorf("open the log of series numbers: %w", err), b.log.Close())
	}
	return nil
}

func (b *buffer) logOptions(name string, s *Options, maxBytes int64) log.Options {
	o := log.Options{Dir: filepath.Join(b.o.Dir, name), MaxBytes: maxBytes, FS: b.o.FS, Logger: s.Logger, Now: s.Now}
	o.Registerer = prometheus.WrapRegistererWith(prometheus.Labels{"log": name}, s.Registerer)
	o = b.o.owned(name, b.lineage.owner, o)
	o.SegmentBytes, o.BeforeSegment = b.o.SegmentBytes, b.lineage.begin
	if name == "points" {
		o.Synced = b.synced
	}
	if name == "series" {
		o.SegmentBytes, o.SpareBytes = min(8<<20, cmp.Or(o.SegmentBytes, 8<<20)), -1
	}
	return o
}

// waits tells why the log can only be read; nil: it takes records.
func (b *buffer) waits() error { return errors.Join(b.log.Waits(), b.numbers.log.Waits()) }

// goOn tries to write logs that could only be read.
func (b *buffer) goOn(ctx context.Context) {
	for _, l := range []*log.Log{b.log, b.numbers.log} {
		if l.Waits() != nil {
			_ = l.GoOn(ctx) // waits tells why
		}
	}
}

// synced tells the engine where the log ends, before what is in it is acknowledged.
func (b *buffer) synced(end log.Position) {
	if err := b.known.note(end); err != nil && b.lost.CompareAndSwap(false, true) {
		b.logger.Warn("cannot record in the store where the log ends, so the loss of the whole log would go unnoticed; look at the disk", "err", err)
	}
}

func (b *buffer) close() error { return errors.Join(b.log.Close(), b.numbers.log.Close()) }

// recover replays the log and checks it.
func (b *buffer) recover(ctx context.Context, d *deleter, filter *replayFilter) error {
	begin, records, points := time.Now(), 0, 0
	if err := b.numbers.replay(ctx, func(record []byte) { b.lineage.last.see("series", record) }); err != nil {
		return fmt.Errorf("read the numbers of series in %s: %w", b.o.Dir, err)
	}
	var batch storage.Batch
	var job bufferJob
	err := b.log.Replay(ctx, log.Position{}, func(at log.Position, record []byte) error {
		if isGeneration(record) {
			b.lineage.last.see("points", record)
			return nil
		}
		if isDeletion(record) {
			records++
			if err := d.replay(at.Segment, record); err != nil {
				return fmt.Errorf("record at %v: %w", at, err)
			}
			return nil
		}
		batch.Reset()
		acknowledged, err := parseRecord(&batch, record, &b.numbers)
		if err != nil {
			return fmt.Errorf("record at %v: %w", at, err)
		}
		if b.ages != nil {
			b.ages.clock.see(acknowledged) // what is acknowledged now is later
		}
		points += len(batch.Refs)
		b.metrics.replayed.Add(float64(len(batch.Refs)))
		kept, err := filter.pass(ctx, &batch, acknowledged)
		if err != nil {
			return err
		}
		job.take(kept)
		if b.mixed {
			b.marks.note(kept, b.numbers.index.Len(), at.Segment)
		}
		b.keep(&job.batch, at.Segment, acknowledged)
		if b.late != nil {
			_ = b.late(ctx, kept) // they are acknowledged
		}
		records++
		return nil
	})
	if err == nil {
		err = b.lineage.check(b.o.Dir)
	}
	if err != nil {
		return fmt.Errorf("replay the log in %s: %w", b.o.Dir, err)
	}
	if records > 0 || len(b.numbers.forgotten) > 0 {
		if err := b.checkNumbers(ctx); err != nil {
			return err
		}
		if err := d.recount(ctx); err != nil {
			b.logger.Warn("the days of series with deleted points cannot be counted; they may be found on days without points, until the next deletion", "err", err)
		}
		b.logger.Info("log replayed", "records", records, "points", points, "series", len(b.numbers.ids), "duration", time.Since(begin))
	}
	return nil
}

// bufferJob is the scratch memory of an append.
type bufferJob struct {
	record []byte
	batch  head.Batch
}

// take makes the head's batch of a batch.
func (j *bufferJob) take(b *storage.Batch) {
	h := &j.batch
	h.IDs, h.Times, h.Values, h.Forms, h.Objects = slices.Grow(h.IDs[:0], len(b.Refs))[:len(b.Refs)], b.Times, b.Values, b.Forms, h.Objects[:0]
	for i, ref := range b.Refs {
		h.IDs[i] = uint32(index.IDOf(ref))
	}
	for i := range b.Objects {
		o := &b.Objects[i]
		h.Objects = append(h.Objects, head.Object{ID: uint32(index.IDOf(o.Ref)), Time: o.Time, Kind: o.Kind, Data: o.Data, After: o.After()})
	}
}

// append returns when the batch is in the log. It must be valid.
func (b *buffer) append(ctx context.Context, batch *storage.Batch) error {
	if err := b.await(ctx); err != nil {
		return err
	}
	if err := b.overload(); err != nil {
		return err
	}
	j := b.jobs.Get().(*bufferJob)
	defer b.jobs.Put(j)
	segment := b.begin()
	defer b.end(segment)
	fresh, err := b.number(ctx, batch)
	if err != nil {
		return err
	}
	acknowledged := b.ages.now()
	b.numbers.use(func(byID []number) { j.record = appendRecord(j.record[:0], batch, fresh, byID, acknowledged) })
	j.take(batch)
	if b.mixed { // also after an error: the record may be there
		defer func() { b.marks.note(batch, b.numbers.index.Len(), b.log.End().Segment) }()
	}
	// Who stops waiting does not take the record back: what may be durable is in the head too, or a
	// restart would show what is not shown now.
	at, err := b.write(ctx, j.record, fresh)
	if err != nil {
		return err
	}
	b.keep(&j.batch, at.Segment, acknowledged)
	return nil
}

// number gives numbers to the series of a batch, and returns those that its record must number. If
// these are too many for one record, records without points number the first ones.
func (b *buffer) number(ctx context.Context, batch *storage.Batch) (fresh []numbered, err error) {
	fresh = b.numbers.need(batch)
	for len(fresh) > numbersPerRecord {
		part := fresh[:numbersPerRecord]
		if _, err := b.write(ctx, appendRecord(nil, &storage.Batch{}, part, nil, 0), part); err != nil {
			return nil, err
		}
		fresh = fresh[numbersPerRecord:]
	}
	return fresh, nil
}

// write returns when a record is in the log. fresh are the series that it numbers.
func (b *buffer) write(ctx context.Context, record []byte, fresh []numbered) (log.Position, error) {
	at, err := b.log.Append(context.WithoutCancel(ctx), record)
	if errors.Is(err, log.ErrFull) {
		err = fmt.Errorf("%w: %w", storage.ErrFull, err)
	}
	b.remember(err)
	if err != nil {
		return at, fmt.Errorf("write the log: %w", err)
	}
	b.numbers.written(fresh)
	return at, nil
}

// keep adds a batch whose record stands in a segment of the log to the head.
func (b *buffer) keep(batch *head.Batch, segment uint64, acknowledged int64) {
	if b.ages == nil {
		b.head.Append(batch, segment)
		return
	}
	b.ages.keep(batch, acknowledged, func() { b.head.Append(batch, segment) })
}

// remember keeps why the log refused the last record; see Refuses.
func (b *buffer) remember(err error) {
	switch {
	case err != nil:
		b.refusal.Store(&err)
	case b.refusal.Load() != nil:
		b.refusal.Store(nil)
	}
}

// await returns when the log is replayed.
func (b *buffer) await(ctx context.Context) error {
	select {
	case <-b.ready:
		return nil
	default: // Done may begin a timer
	}
	select {
	case <-b.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the log is being replayed", storage.ErrNotReady)
	}
}

// measure stops appends while the table takes less than comes in: rows beyond MaxHeadBytes should
// have been put, half as much more is the end. While there are unfinished deletions (deleting), the
// log is not cut; its last segment is left for the records of their ends.
func (b *buffer) measure(deleting bool) {
	b.full.Store(b.head.Stats().Bytes+b.agesBytes() > b.o.MaxHeadBytes/2*3)
	b.scarce.Store(deleting && b.log.SegmentsLeft() < 2)
}

// overload returns why points are refused until some have been put into the table.
func (b *buffer) overload() error {
	switch {
	case b.full.Load():
		return fmt.Errorf("%d bytes of points wait in memory for the table, --write.buffer.max-bytes is %d", b.head.Stats().Bytes+b.agesBytes(), b.o.MaxHeadBytes)
	case b.scarce.Load():
		return fmt.Errorf("%w: the log is kept for a deletion that is under way, --write.log.max-bytes is %d", storage.ErrFull, b.o.MaxLogBytes)
	}
	return nil
}

// begin notes an append, or a deletion: the log is not cut in the segment where it ends now, or
// later, before end is called.
func (b *buffer) begin() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	segment := b.log.End().Segment
	b.pending[segment]++
	return segment
}

// hold is begin for a record that is in the log.
func (b *buffer) hold(segment uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending[segment]++
}

func (b *buffer) end(segment uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending[segment]-- // an entry of 0 is removed by truncate: the next append needs it again
}

const (
	// The log of shared tables is cut when everything in it was put, at most so often, and its
	// files are never filled for longer than rollEvery: what a crash replays is read with the past
	// of its row, which HBase forgets in the end.
	rollAtLeast = 30 * time.Second
	rollEvery   = 10 * time.Minute
)

// follow tells tables and log of each other, if the log has grown. A log or a disk without space is
// left alone: what is there already is true.
func (b *buffer) follow(ctx context.Context) error {
	if b.lineage.keeper == nil || b.refusal.Load() != nil || b.waits() != nil {
		return nil
	}
	err := b.lineage.follow(ctx)
	if errors.Is(err, storage.ErrFull) || errors.Is(err, log.ErrFull) {
		return nil
	}
	return err
}

// roll begins a new file of the log when it is time to, and cuts off what the table has.
func (b *buffer) roll(ctx context.Context) error {
	since := b.now().Sub(b.rolled)
	if b.ages == nil || b.log.End() == b.rolledTo || since < rollAtLeast || since < rollEvery && b.head.Stats().Rows > 0 {
		return nil
	}
	if err := b.log.Roll(); err != nil {
		return fmt.Errorf("begin a new file of the log: %w", err)
	}
	b.rolled, b.rolledTo = b.now(), b.log.End()
	if err := b.truncate(ctx); err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return nil
}

// truncate cuts off the part of the log that the table has: everything before the records of the
// head and of the appends and deletions under way. The numbers that the records there give to series
// are saved first.
func (b *buffer) truncate(ctx context.Context) error {
	b.mu.Lock()
	oldest := b.log.End().Segment
	for segment, n := range b.pending {
		if n == 0 {
			delete(b.pending, segment)
		} else {
			oldest = min(oldest, segment)
		}
	}
	b.mu.Unlock()
	if mark, ok := b.head.OldestMark(); ok {
		oldest = min(oldest, mark)
	}
	if err := b.numbers.save(ctx); err != nil {
		return err
	}
	if err := b.lineage.cut(oldest); err != nil {
		return err
	}
	if err := b.log.Truncate(log.Position{Segment: oldest}); err != nil {
		return err
	}
	b.marks.oldest.Store(oldest)
	return nil
}

// remove removes the closed logs, which hold nothing that is needed. The points go first: they mean
// nothing without the numbers.
func (b *buffer) remove() error {
	if err := errors.Join(b.lineage.end(b.log.End()), b.known.forget()); err != nil {
		return fmt.Errorf("note that there is no log: %w", err)
	}
	for _, name := range []string{"points", "series"} {
		if err := log.Remove(log.Options{FS: b.o.FS, Dir: filepath.Join(b.o.Dir, name), MarkPath: b.o.markPath(name)}); err != nil {
			return fmt.Errorf("remove the log's files: %w", err)
		}
	}
	return nil
}

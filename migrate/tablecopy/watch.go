package tablecopy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// ErrForgotten means that a source does not know any more what has changed since a moment: it was started again, or nobody asked
// for long.
var ErrForgotten = errors.New("the source no longer knows what has changed since then")

// Changes are what may have changed in a store since a moment.
type Changes struct {
	// Moment is the one of this answer.
	Moment string `json:"moment"`
	// Forgotten means that it is not known what has changed since the moment that was asked for.
	Forgotten bool `json:"forgotten,omitempty"`
	// Recent, if above 0, is the first time of points of any metric that came when they were recent, in milliseconds.
	Recent int64 `json:"recent,omitempty"`
	// Spans are the times of other points.
	Spans []Span `json:"spans,omitempty"`
	// Deleted are times in which points of the source may have been deleted.
	Deleted []Span `json:"deleted,omitempty"`
}

// A Span is a time (milliseconds, both included) of a metric; "": of any.
type Span struct {
	Metric string `json:"metric,omitempty"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
}

// A Follower tells what changes in a store. It is safe for concurrent use.
type Follower interface {
	// Changes returns what may have changed since a moment, "" for the first one: then nothing. A moment is known until another
	// one that came after it is asked for.
	Changes(ctx context.Context, since string) (Changes, error)
}

// A Watch is the Follower of a store.
type Watch struct {
	s       Store
	now     func() time.Time
	keptFor time.Duration

	mu   sync.Mutex // guards what follows
	next int
	kept []*watched // in the order of their moments
	// renamed is when this process last heard of a rename, in milliseconds; 0: never. On shared tables a rename leaves no trace in rows.
	renamed int64
}

// watched is a moment of tables of one process.
type watched struct {
	moment  string
	reading *store.Reading
	ends    *time.Timer
}

// mostWatched is how many moments are kept, of all who follow. One that nobody asks for is kept for watchedFor, so that nothing is noted
// for a follower that has gone.
const (
	mostWatched = 16
	watchedFor  = 6 * time.Hour
)

// NewWatch returns the Follower of a store.
func NewWatch(s Store, now func() time.Time) *Watch {
	w := &Watch{s: s, now: now, keptFor: watchedFor}
	if s.Shared {
		s.Store.Catalog().OnRename(w.noteRename)
	}
	return w
}

func (w *Watch) noteRename() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renamed = w.now().UnixMilli()
}

// renamedSince reports whether this process has heard of a rename at a time or later.
func (w *Watch) renamedSince(from int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.renamed > 0 && w.renamed >= from
}

// Changes implements Follower.
func (w *Watch) Changes(ctx context.Context, since string) (Changes, error) {
	if w.s.Shared {
		return w.shared(ctx, since)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	reading, ok := w.s.Store.Read(0, storage.MaxTime)
	if !ok {
		return Changes{}, fmt.Errorf("%w: other processes write to these tables", storage.ErrInvalid)
	}
	c, err := w.local(ctx, since)
	if err != nil {
		reading.End()
		return c, err
	}
	w.next++
	c.Moment = fmt.Sprintf("%x-%d", w.now().UnixNano(), w.next)
	one := &watched{moment: c.Moment, reading: reading}
	one.ends = time.AfterFunc(w.keptFor, func() { w.forget(one) })
	w.kept = append(w.kept, one)
	if len(w.kept) > mostWatched {
		w.drop(0)
	}
	return c, nil
}

// forget ends a moment that nobody has asked for.
func (w *Watch) forget(one *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := slices.Index(w.kept, one); at >= 0 {
		w.drop(at)
	}
}

// drop ends a moment. It needs mu.
func (w *Watch) drop(at int) {
	w.kept[at].ends.Stop()
	w.kept[at].reading.End()
	w.kept = slices.Delete(w.kept, at, at+1)
}

// local returns what has changed in tables of this process. It needs mu.
func (w *Watch) local(ctx context.Context, since string) (c Changes, err error) {
	if since == "" {
		return c, nil
	}
	at := slices.IndexFunc(w.kept, func(one *watched) bool { return one.moment == since })
	if at < 0 {
		return Changes{Forgotten: true}, nil
	}
	w.kept[at].ends.Reset(w.keptFor)
	d, ok, err := w.kept[at].reading.ChangesByName(ctx)
	if err != nil || !ok {
		return Changes{Forgotten: !ok}, err
	}
	if d.Recent != math.MaxInt64 {
		c.Recent = max(d.Recent, 1)
	}
	for _, metric := range slices.Sorted(maps.Keys(d.Metrics)) {
		c.Spans = append(c.Spans, Span{metric, d.Metrics[metric], storage.MaxTime})
	}
	if d.Renamed { // all points may have to be put under other names
		c.Spans = []Span{{"", 0, storage.MaxTime}}
	}
	for _, s := range d.Spans {
		c.Deleted = append(c.Deleted, Span{"", max(s.From, 0), min(s.To, storage.MaxTime)})
	}
	return c, nil
}

// On shared tables cells tell by their stamps when they were put. A process with a log puts cells with the time at which it
// acknowledged them, so that a look goes back further than the last one: a little each time, and far now and then.
const (
	margin     = 2 * time.Minute
	deepMargin = 65 * time.Minute
	deepEvery  = 15 * time.Minute
)

// shared returns what has changed in tables of several processes. A moment is two times: of the look, and of the last deep one.
func (w *Watch) shared(ctx context.Context, since string) (Changes, error) {
	now := w.now()
	if since == "" {
		return Changes{Moment: fmt.Sprintf("%d/%d", now.UnixMilli(), now.UnixMilli())}, nil
	}
	lookText, deepText, _ := strings.Cut(since, "/")
	look, err := strconv.ParseInt(lookText, 10, 64)
	deep, err2 := strconv.ParseInt(deepText, 10, 64)
	if err != nil || err2 != nil {
		return Changes{}, fmt.Errorf("%w: moment %q", storage.ErrInvalid, since)
	}
	from := look - margin.Milliseconds()
	if now.UnixMilli() >= deep+deepEvery.Milliseconds() {
		from, deep = deep-deepMargin.Milliseconds(), now.UnixMilli()
	}
	c := Changes{Moment: fmt.Sprintf("%d/%d", now.UnixMilli(), deep)}
	if w.renamedSince(look) {
		all := Span{"", 0, storage.MaxTime}
		c.Spans, c.Deleted = append(c.Spans, all), append(c.Deleted, all)
	}
	metrics, err := w.s.Store.Catalog().NamedMetrics(ctx, 0, storage.MaxTime)
	if err != nil {
		return c, err
	}
	for _, metric := range metrics {
		hours := map[uint32]bool{}
		err := w.s.Store.EachChangedRow(ctx, metric, from, func(base uint32) error { hours[base] = true; return nil })
		if err != nil {
			return c, err
		}
		c.Spans = append(c.Spans, spansOf(metric, hours)...)
	}
	err = w.s.Store.EachDeletion(ctx, from, func(tsuids [][]byte, start, end int64) error {
		named, err := w.s.Store.Catalog().NameSeries(ctx, tsuids)
		for _, s := range named {
			if one := (Span{s.Metric, max(start, 0), min(end, storage.MaxTime)}); !slices.Contains(c.Deleted, one) {
				c.Deleted = append(c.Deleted, one)
			}
		}
		return err
	})
	return c, err
}

// spansOf joins hours, in seconds, that follow each other.
func spansOf(metric string, hours map[uint32]bool) (spans []Span) {
	for _, base := range slices.Sorted(maps.Keys(hours)) {
		from, to := int64(base)*1000, int64(base)*1000+hourMillis-1
		if n := len(spans); n > 0 && spans[n-1].To+1 == from {
			spans[n-1].To = to
			continue
		}
		spans = append(spans, Span{metric, from, to})
	}
	return spans
}

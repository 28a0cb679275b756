package storage

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Select implements Querier.
func (s *Store) Select(ctx context.Context, q Query) iter.Seq2[Points, error] {
	return func(yield func(Points, error) bool) {
		q.Start, q.End = max(q.Start, 0), min(q.End, MaxTime)
		if q.Start > q.End || len(q.Refs) == 0 {
			return
		}
		if err := s.replayed(); err != nil {
			yield(Points{}, err)
			return
		}
		for _, ref := range q.Refs {
			if !s.known(ref) {
				yield(Points{}, fmt.Errorf("%w: series reference %d was never resolved", ErrInvalid, ref))
				return
			}
		}
		r := reader{store: s, decoder: decoder{q: q, table: s.o.Tables.Data}, yield: yield}
		for _, g := range s.plan(q) {
			read := r.get
			if g.scan {
				read = r.scan
			}
			if err := read(ctx, g); err != nil {
				yield(Points{}, err)
				return
			}
			if r.stopped {
				return
			}
		}
	}
}

// reader is one Select under way.
type reader struct {
	store   *Store
	decoder decoder
	yield   func(Points, error) bool
	stopped bool         // the caller left the loop
	samples int          // given so far
	head    *head.Points // of the series under way
}

// give hands a series to the caller unless it is empty; false ends the reading.
func (r *reader) give(p *Points) bool {
	p.join(r.head)
	r.head = nil
	if p.size() > 0 && !r.yield(*p, nil) {
		r.stopped = true
	}
	return !r.stopped
}

// count keeps the answer within its limit.
func (r *reader) count(n int) error {
	r.samples += n
	if limit := r.decoder.q.MaxSamples; limit > 0 && r.samples > limit {
		return fmt.Errorf("%w: the query selects more than %d samples", ErrLimit, limit)
	}
	return nil
}

// rowsPerGet bounds the rows that one get holds in memory.
const rowsPerGet = 1024

// get reads a group row by row: series after series, each from its first hour to its last, one batch ahead of the caller.
func (r *reader) get(ctx context.Context, g group) error {
	ctx, cancel := context.WithCancel(ctx)
	fetches := make(chan fetch, 1)
	var fetching errgroup.Group
	fetching.Go(func() error {
		defer close(fetches)
		return r.fetch(ctx, g.refs, fetches)
	})
	var out Points
	err := r.decode(&out, fetches)
	cancel()
	for range fetches { // let the fetcher see that it is over
	}
	fetchErr := fetching.Wait()
	switch {
	case err != nil || r.stopped:
		return err
	case fetchErr != nil:
		return fetchErr // and the series under way is not complete
	}
	r.give(&out)
	return nil
}

// fetch is a batch of rows: rows[i] belongs to refs[i] and bases[i].
type fetch struct {
	rows  []kv.Row
	refs  []Ref
	bases []uint32
	heads map[Ref]*head.Points // of the series that begin in the batch
}

func (r *reader) fetch(ctx context.Context, refs []Ref, fetches chan<- fetch) error {
	first, last := schema.Base(r.decoder.q.Start), schema.Base(r.decoder.q.End)
	var f fetch
	var keys [][]byte
	send := func() (err error) {
		s := r.store
		if f.rows, err = s.db.Get(ctx, s.o.Tables.Data, schema.FamilyData, keys); err != nil {
			return fmt.Errorf("read %d rows: %w", len(keys), err)
		}
		s.metrics.selectRows.WithLabelValues(planGet).Add(float64(len(keys)))
		select {
		case fetches <- f:
		case <-ctx.Done():
			return ctx.Err()
		}
		f, keys = fetch{}, nil
		return nil
	}
	for _, ref := range refs {
		if snapshot := r.snapshot(ref); snapshot != nil {
			if f.heads == nil {
				f.heads = map[Ref]*head.Points{}
			}
			f.heads[ref] = snapshot
		}
		tsuid := []byte(r.store.index.TSUID(ref.id()))
		for base := first; ; base += schema.RowSeconds {
			keys = append(keys, r.store.layout.AppendRowKey(nil, tsuid, base))
			f.refs, f.bases = append(f.refs, ref), append(f.bases, base)
			if len(keys) == rowsPerGet {
				if err := send(); err != nil {
					return err
				}
			}
			if base >= last {
				break
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return send()
}

// decode turns batches into series and gives them, but for the last one, which stays in out.
func (r *reader) decode(out *Points, fetches <-chan fetch) error {
	for f := range fetches {
		for i, row := range f.rows {
			if f.refs[i] != out.Ref {
				if !r.give(out) {
					return nil
				}
				out.reset(f.refs[i])
				if r.head = f.heads[out.Ref]; r.head != nil {
					if err := r.count(len(r.head.Times) + len(r.head.Objects)); err != nil {
						return err
					}
				}
			}
			if len(row.Cells) == 0 {
				continue
			}
			before := out.size()
			if err := r.decoder.add(out, f.bases[i], row); err != nil {
				return err
			}
			if err := r.count(out.size() - before); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan reads a group of series of one metric in one pass over the metric's rows in each salt bucket.
func (r *reader) scan(ctx context.Context, g group) error {
	s := r.store
	series := make(map[string]*Points, len(g.refs))
	heads := map[Ref]*head.Points{}
	buckets := make([][][]byte, s.layout.Buckets())
	for _, ref := range g.refs {
		tsuid := s.index.TSUID(ref.id())
		tags := tsuid[s.layout.MetricWidth:]
		series[tags] = &Points{Ref: ref}
		if snapshot := r.snapshot(ref); snapshot != nil {
			heads[ref] = snapshot
			if err := r.count(len(snapshot.Times) + len(snapshot.Objects)); err != nil {
				return err
			}
		}
		bucket := s.layout.Bucket([]byte(tsuid))
		buckets[bucket] = append(buckets[bucket], []byte(tags))
	}
	for bucket, suffixes := range buckets {
		if len(suffixes) == 0 {
			continue
		}
		slices.SortFunc(suffixes, bytes.Compare)
		if err := r.scanBucket(ctx, bucket, g.metric, suffixes, series); err != nil {
			return err
		}
	}
	for _, ref := range g.refs {
		r.head = heads[ref]
		if !r.give(series[s.index.TSUID(ref.id())[s.layout.MetricWidth:]]) {
			return nil
		}
	}
	return nil
}

func (r *reader) scanBucket(ctx context.Context, bucket int, metric string, suffixes [][]byte, series map[string]*Points) error {
	s := r.store
	scan := s.rowScan(bucket, metric, schema.Base(r.decoder.q.Start), schema.Base(r.decoder.q.End))
	scan.Match = &kv.Match{Prefix: s.layout.PrefixWidth(), Key: s.layout.TagkWidth, Value: s.layout.TagvWidth, Suffixes: suffixes}
	for row, err := range s.db.Scan(ctx, scan) {
		if err != nil {
			return fmt.Errorf("scan the rows of metric %x: %w", metric, err)
		}
		s.metrics.selectRows.WithLabelValues(planScan).Inc()
		key, err := s.layout.ParseRowKey(row.Key)
		if err != nil {
			return err
		}
		out := series[string(key.Tags)]
		before := out.size()
		if err := r.decoder.add(out, key.Base, row); err != nil {
			return err
		}
		if err := r.count(out.size() - before); err != nil {
			return err
		}
	}
	return nil
}

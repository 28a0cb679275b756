package read

import (
	"cmp"
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// seriesGroup is a run of the query's series that is read as a whole: points has them in the
// query's order, members in that of the table.
type seriesGroup struct {
	points     []storage.Points
	refs       []storage.Ref // of points
	members    []member
	plans      []plan
	parts      []groupPart
	readers    []*partReader // of parts; they have the points' memory
	duplicates []duplicate
	samples    atomic.Int64
	charge     charge
}

// duplicate is a series that was asked for twice.
type duplicate struct{ of, at int } // in points

// member is a series of a group.
type member struct {
	bucket int
	tsuid  string
	lead   uint64 // the bytes of the TSUID after those that all of the group share
	at     int    // in points
}

// groupPart is what one goroutine reads of a group: whole series, in the order of the table or, from
// a sweep, in that of the query.
type groupPart struct {
	plan
	members []member
	from    int // from a sweep: the first series, in the query's
	end     int // of members in those of the group; from a sweep: of series in the query's
}

// read reads the query's series [from, to), from sweeps if these are worth it.
func (g *seriesGroup) read(ctx context.Context, r *selection, from, to int) error {
	g.begin(r, r.q.Refs[from:to])
	if r.sweeps == nil {
		return g.readTable(ctx, r)
	}
	for at := from; at < to; {
		s, err := r.sweeps.of(ctx, at)
		switch {
		case err != nil:
			return err
		case s == nil:
			return g.readTable(ctx, r)
		}
		end := min(to, s.to)
		if err := g.readSwept(ctx, s, from, at, end); err != nil {
			return err
		}
		r.sweeps.done(s, end-at)
		at = end
	}
	return nil
}

// begin prepares the group for other series.
func (g *seriesGroup) begin(r *selection, refs []storage.Ref) {
	g.samples.Store(0)
	g.charge.end()
	g.charge.account = r.account
	g.points = slices.Grow(g.points[:0], len(refs))[:len(refs)]
	for i, ref := range refs {
		g.points[i] = storage.Points{Ref: ref}
	}
	g.parts = g.parts[:0]
}

// readTable reads the series of the group from the table.
func (g *seriesGroup) readTable(ctx context.Context, r *selection) error {
	begin := time.Now()
	g.order(r.Reader, r.refsOf(g))
	g.plans = r.appendPlans(g.plans[:0], g.members)
	for _, p := range g.plans {
		r.chose(p.kind)
	}
	g.cut(r)
	if err := g.readParts(ctx, r, g.parts, func(ctx context.Context, w *partReader, p groupPart) error { return w.read(ctx, r, g, p) }); err != nil {
		return err
	}
	r.noteRows(g.plans, g.members, time.Since(begin))
	for _, t := range g.duplicates {
		g.points[t.at] = g.points[t.of]
		g.samples.Add(int64(g.points[t.of].Len()))
	}
	return nil
}

// readSwept decodes series [at, end) of a query, of which the group begins with series from. The
// sweep has their rows.
func (g *seriesGroup) readSwept(ctx context.Context, s *sweep, from, at, end int) error {
	first := len(g.parts)
	share := max(fewestPart, (end-at+s.readers-1)/s.readers)
	for ; at < end; at += share {
		g.parts = append(g.parts, groupPart{from: at, end: min(at+share, end)})
	}
	return g.readParts(ctx, s.selection, g.parts[first:], func(ctx context.Context, w *partReader, p groupPart) error { return w.readSwept(ctx, s, g, p, from) })
}

// readParts calls read for parts, which are the last ones of the group, with a reader for each.
func (g *seriesGroup) readParts(ctx context.Context, r *selection, parts []groupPart, read func(context.Context, *partReader, groupPart) error) error {
	for len(g.readers) < len(g.parts) {
		g.readers = append(g.readers, new(partReader))
	}
	readers := g.readers[len(g.parts)-len(parts):]
	if len(parts) == 1 {
		return read(ctx, readers[0], parts[0])
	}
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(r.readers)
	for i, p := range parts {
		reading.Go(func() error { return read(ctx, readers[i], p) })
	}
	return reading.Wait()
}

// order brings the series into the order of the table.
func (g *seriesGroup) order(s *Reader, refs []storage.Ref) {
	g.members = slices.Grow(g.members[:0], len(refs))[:0]
	for i, ref := range refs {
		m := member{tsuid: s.o.Index.TSUID(index.IDOf(ref)), at: i}
		if s.o.Layout.SaltWidth > 0 {
			m.bucket = s.o.Layout.Bucket([]byte(m.tsuid))
		}
		g.members = append(g.members, m)
	}
	g.lead()
	if !slices.IsSortedFunc(g.members, inTable) {
		slices.SortFunc(g.members, inTable)
	}
	g.dropDuplicates()
}

// lead sets the members' leads: most comparisons need no look at the TSUIDs, which lie all over the
// memory.
func (g *seriesGroup) lead() {
	common := g.members[0].tsuid
	for i := range g.members {
		common = common[:sharedPrefix(common, g.members[i].tsuid)]
	}
	for i := range g.members {
		var b [8]byte
		copy(b[:], g.members[i].tsuid[len(common):])
		g.members[i].lead = binary.BigEndian.Uint64(b[:])
	}
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	if a[:n] == b[:n] {
		return n
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// inTable orders by salt bucket, then TSUID.
func inTable(a, b member) int {
	switch {
	case a.bucket != b.bucket:
		return cmp.Compare(a.bucket, b.bucket)
	case a.lead != b.lead:
		return cmp.Compare(a.lead, b.lead)
	case a.tsuid != b.tsuid:
		return strings.Compare(a.tsuid, b.tsuid)
	default:
		return cmp.Compare(a.at, b.at)
	}
}

// dropDuplicates leaves one member for each series.
func (g *seriesGroup) dropDuplicates() {
	g.duplicates = g.duplicates[:0]
	kept := g.members[:0]
	for _, m := range g.members {
		if n := len(kept); n > 0 && kept[n-1].tsuid == m.tsuid {
			g.duplicates = append(g.duplicates, duplicate{kept[n-1].at, m.at})
			continue
		}
		kept = append(kept, m)
	}
	g.members = kept
}

const (
	// maxWorkers bounds the goroutines that read a group.
	maxWorkers = 8
	// localRows is how many rows are worth a goroutine on the local engine, at a microsecond or two
	// each; clusterRows on a cluster, where a request costs as much as some hundred rows.
	localRows, clusterRows = 48, 512
)

func (s *Reader) readWorkers() int {
	if s.o.DB.Local != nil {
		return min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	return maxWorkers
}

// cut makes the parts. Reads by key follow one another without a break, and are cut into equal
// shares; scans are cut by metric and salt bucket only, for each goes over the rows of the whole
// metric.
func (g *seriesGroup) cut(r *selection) {
	worth := clusterRows
	switch {
	case r.newestAlone():
		worth = fewestNewest
	case r.o.DB.Local != nil:
		worth = localRows
	}
	workers := max(min(r.readers, len(g.members)*r.hours()/worth), 1)
	share := (len(g.members) + workers - 1) / workers
	g.parts = g.parts[:0]
	for i := 0; i < len(g.plans); {
		p, n := g.plans[i], g.plans[i].series
		for i++; !p.kind.scans() && i < len(g.plans) && g.plans[i].kind == p.kind; i++ {
			n += g.plans[i].series
		}
		g.split(p, n, share)
	}
}

// split makes parts of the members that have none yet, n of them.
func (g *seriesGroup) split(p plan, n, share int) {
	done := 0
	if last := len(g.parts) - 1; last >= 0 {
		done = g.parts[last].end
	}
	if p.kind.scans() {
		share = n
	}
	for end := done + n; done < end; {
		some := min(share, end-done)
		g.parts = append(g.parts, groupPart{plan: p, members: g.members[done : done+some], end: done + some})
		done += some
	}
}

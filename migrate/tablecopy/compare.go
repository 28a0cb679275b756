package tablecopy

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Verified is what a comparison found.
type Verified struct {
	Ranges  int64 // that were compared
	Series  int64 // of them, in all ranges together
	Points  int64 // of the source
	Differ  int64 // series of ranges that the target has not as the source has them
	Missing int64 // points of these that the target has not
	Other   int64 // points of these in whose place the target has another one
}

// A Difference is a series that the target has not as the source has it.
type Difference struct {
	Part, Series   string
	Missing, Other int   // see Verified
	First          int64 // time of the first one of both, in milliseconds
}

// String tells it in a line.
func (d Difference) String() string {
	var parts []string
	if d.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d are missing", d.Missing))
	}
	if d.Other > 0 {
		parts = append(parts, fmt.Sprintf("%d are others there", d.Other))
	}
	return fmt.Sprintf("%s of %s: %s, the first at %s", d.Part, d.Series, strings.Join(parts, ", "), time.UnixMilli(d.First).UTC().Format(time.RFC3339))
}

// A digest tells what a series has, in any order.
type digest struct {
	count int64
	sum   uint64
}

// A comparison compares stores.
type comparison struct {
	from, to Source
	seed     maphash.Seed
}

// A thing is something that a series has. A series has one thing at a place.
type thing struct {
	at          int64
	item, place uint64 // hashes: of all of it, and of where it is
}

// one returns a thing that is alone at its place: what kind it is, its time, and what else tells its place.
func (c *comparison) one(kind byte, at int64, where, bits uint64, data []byte) thing {
	return thing{at, c.item(kind, at, bits, data), c.item('@', at, where, []byte{kind})}
}

// among returns a thing whose place others may have too.
func (c *comparison) among(kind byte, at int64, bits uint64, data []byte) thing {
	item := c.item(kind, at, bits, data)
	return thing{at, item, item}
}

// item hashes a thing of a series.
func (c *comparison) item(kind byte, at int64, bits uint64, data []byte) uint64 {
	var b [17]byte
	b[0] = kind
	binary.LittleEndian.PutUint64(b[1:], uint64(at))
	binary.LittleEndian.PutUint64(b[9:], bits)
	var h maphash.Hash
	h.SetSeed(c.seed)
	_, _ = h.Write(b[:])
	_, _ = h.Write(data)
	return h.Sum64()
}

// each calls see with the things of a series.
func (c *comparison) each(s *Series, see func(thing)) {
	integers := s.Integers
	for i, t := range s.Times {
		for len(integers) > 0 && integers[0].Time < t {
			integers = integers[1:]
		}
		one := thing{at: t, place: c.item('@', t, 0, nil)}
		if len(integers) > 0 && integers[0].Time == t {
			one.item = c.item('i', t, uint64(integers[0].Value), nil)
		} else {
			one.item = c.item('f', t, math.Float64bits(s.Values[i]), nil)
		}
		see(one)
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		if o.Kind == storage.KindExemplar {
			see(c.among('o', o.Time, uint64(o.Kind), o.Data))
		} else {
			see(c.one('o', o.Time, uint64(o.Kind), uint64(o.Kind), o.Data))
		}
	}
	for _, document := range s.Notes {
		if note, err := schema.ParseAnnotation(document); err == nil {
			note.TSUID = ""
			one := c.among('n', note.Start, 0, schema.AppendAnnotation(nil, note))
			one.at = schema.MillisOf(note.Start)
			see(one)
		}
	}
	for _, slots := range s.Slots {
		for i, t := range slots.Times {
			one := c.one('s', t, uint64(slots.Step), math.Float64bits(slots.Values[i]), binary.LittleEndian.AppendUint32(nil, slots.Step))
			one.at = t * 1000
			see(one)
		}
	}
	for i := range s.Rolled {
		r := &s.Rolled[i]
		text := []byte(r.Interval + "/" + r.Aggregation)
		place := c.item('p', r.Time, 0, text)
		see(thing{r.Time, c.item('r', r.Time, r.Value.Bits, append(text, r.Value.Flags)), place})
	}
}

// digests returns what the series of a range have, by the hashes of their names.
func (c *comparison) digests(ctx context.Context, from Source, about pipeline.Range) (all map[uint64]digest, err error) {
	all = map[uint64]digest{}
	err = from.Read(ctx, about, func(b *Block) error {
		for i := range b.Series {
			s := &b.Series[i]
			key := maphash.String(c.seed, s.Name.String())
			d := all[key]
			c.each(s, func(one thing) { d.count++; d.sum += one.item })
			all[key] = d
		}
		var events Series
		events.Notes = b.Notes
		if len(b.Notes) > 0 {
			d := all[0]
			c.each(&events, func(one thing) { d.count++; d.sum += one.item })
			all[0] = d
		}
		for i := range b.Names {
			all[maphash.String(c.seed, b.Names[i].Kind.String()+" "+b.Names[i].Name)] = digest{}
		}
		return nil
	})
	return all, err
}

// itemsAtOnce bounds the things of series that differ, which are compared one by one.
const itemsAtOnce = 4 << 20

// A difference is what one store has of a series and the other has not.
type difference struct {
	name    storage.Series
	missing []int64 // times of things of the source in whose place the target has nothing
	other   []int64 // times of things of the source in whose place the target has another thing
	extra   []int64 // times of things of the target in whose place the source has nothing
	source  []int64 // times of all things of the source, ascending
}

// told is what people are told.
func (d *difference) told(part string) Difference {
	return Difference{Part: part, Series: d.name.String(), Missing: len(d.missing), Other: len(d.other), First: slices.Min(append(d.missing, d.other...))}
}

// compare calls see with the series of a range that differ. The source is read before the target. With extra, series count that only the target has, and things that
// only it has of other series.
func (c *comparison) compare(ctx context.Context, about pipeline.Range, extra bool, see func(difference) error) (v Verified, err error) {
	a, err := c.digests(ctx, c.from, about)
	if err != nil {
		return v, err
	}
	b, err := c.digests(ctx, c.to, about)
	if err != nil {
		return v, err
	}
	v.Ranges, v.Series = 1, int64(len(a))
	var differ []uint64
	for key, d := range a {
		v.Points += d.count
		if other, ok := b[key]; !ok || other != d {
			differ = append(differ, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; extra && !ok {
			differ = append(differ, key)
		}
	}
	slices.Sort(differ)
	for len(differ) > 0 {
		n, items := 0, int64(0)
		for n < len(differ) && (n == 0 || items < itemsAtOnce) {
			items += a[differ[n]].count + b[differ[n]].count
			n++
		}
		if err := c.details(ctx, about, differ[:n], func(d difference) error {
			if len(d.missing)+len(d.other) > 0 {
				v.Differ++
				v.Missing += int64(len(d.missing))
				v.Other += int64(len(d.other))
			} else if !extra || len(d.extra) == 0 {
				return nil
			}
			return see(d)
		}); err != nil {
			return v, err
		}
		differ = differ[n:]
	}
	return v, nil
}

// things are those of a series, by their hashes.
type things struct {
	name storage.Series
	of   map[uint64]thing
}

// lost tells the times of the things that others lack, and of those in whose place others have another thing. Of several things that
// these have at a place, others need one: a source of text may have two samples of one time.
func (t *things) lost(others *things) (missing, other []int64) {
	var lost []thing
	for item, one := range t.of {
		if _, ok := others.of[item]; !ok {
			lost = append(lost, one)
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	equal, taken := map[uint64]bool{}, map[uint64]bool{}
	for item, one := range others.of {
		taken[one.place] = true
		if _, ok := t.of[item]; ok {
			equal[one.place] = true
		}
	}
	seen := map[uint64]bool{}
	for _, one := range lost {
		switch {
		case equal[one.place] || seen[one.place]:
		case taken[one.place]:
			other = append(other, one.at)
		default:
			missing = append(missing, one.at)
		}
		seen[one.place] = true
	}
	slices.Sort(missing)
	slices.Sort(other)
	return missing, other
}

// details compares series of a range, by the hashes of their names, one by one.
func (c *comparison) details(ctx context.Context, about pipeline.Range, keys []uint64, see func(difference) error) error {
	read := func(from Source) (map[uint64]*things, error) {
		all := map[uint64]*things{}
		add := func(key uint64, s *Series) {
			if _, ok := slices.BinarySearch(keys, key); !ok {
				return
			}
			if all[key] == nil {
				all[key] = &things{s.Name, map[uint64]thing{}}
			}
			c.each(s, func(one thing) { all[key].of[one.item] = one })
		}
		err := from.Read(ctx, about, func(b *Block) error {
			for i := range b.Series {
				add(maphash.String(c.seed, b.Series[i].Name.String()), &b.Series[i])
			}
			if len(b.Notes) > 0 {
				add(0, &Series{Notes: b.Notes})
			}
			for i := range b.Names {
				n := &b.Names[i]
				add(maphash.String(c.seed, n.Kind.String()+" "+n.Name), &Series{Name: storage.Series{Metric: n.Kind.String() + " " + n.Name}})
			}
			return nil
		})
		return all, err
	}
	source, err := read(c.from)
	if err != nil {
		return err
	}
	target, err := read(c.to)
	if err != nil {
		return err
	}
	for _, key := range keys {
		a, b := source[key], target[key]
		d := difference{}
		switch {
		case a == nil && b == nil:
			continue // both were deleted
		case a == nil:
			d.name, a = b.name, &things{}
		case b == nil:
			d.name, b = a.name, &things{}
			if len(a.of) == 0 { // the series is not registered, or the name has no UID
				d.missing = []int64{0}
			}
		default:
			d.name = a.name
		}
		if d.missing == nil {
			d.missing, d.other = a.lost(b)
		}
		has := map[uint64]bool{}
		for _, one := range a.of {
			d.source, has[one.place] = append(d.source, one.at), true
		}
		for _, one := range b.of {
			if !has[one.place] {
				d.extra = append(d.extra, one.at)
			}
		}
		slices.Sort(d.source)
		slices.Sort(d.extra)
		if err := see(d); err != nil {
			return err
		}
	}
	return nil
}

// VerifyOptions are what a comparison of two stores needs.
type VerifyOptions struct {
	From, To Source
	Parallel int
	// Sample is the share of the ranges that are compared, at random: 1 are all. Series and names are compared in any case.
	Sample float64
	// Asking is how long a store that fails is asked again. A range is compared anew then.
	Asking pipeline.Asking
	// Differs is told of each series of a range that the target has not as the source has it.
	Differs func(Difference)
	// Progress, if set, is called after each range.
	Progress func(Verified)
}

// Verify compares what a source has with what a target has of it. What the target has in addition does not matter.
func Verify(ctx context.Context, o VerifyOptions) (v Verified, err error) {
	c := &comparison{from: o.From, to: o.To, seed: maphash.MakeSeed()}
	var parts, has []string
	err = o.Asking.Again(ctx, func() (err error) {
		if parts, err = o.From.Parts(ctx); err == nil {
			has, err = o.To.Parts(ctx)
		}
		return err
	})
	if err != nil {
		return v, err
	}
	var mu sync.Mutex // guards v, and what is told
	for _, part := range parts {
		if part == PartTrees || !slices.Contains(has, part) {
			continue // the copy has listed what the target does not take
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(o.Parallel)
		err := eachRange(ctx, patient{o.From, o.Asking}, part, func(about pipeline.Range) {
			if part != PartSeries && part != PartNames && rand.Float64() >= o.Sample {
				return
			}
			group.Go(func() error {
				var one Verified
				var differ []Difference
				err := o.Asking.Again(ctx, func() (err error) {
					differ = nil
					one, err = c.compare(ctx, about, false, func(d difference) error {
						differ = append(differ, d.told(about.Part))
						return nil
					})
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				for _, d := range differ {
					o.Differs(d)
				}
				v.Ranges += one.Ranges
				if v.Points += one.Points; about.Part == PartSeries {
					v.Series += one.Series
				}
				v.Differ += one.Differ
				v.Missing += one.Missing
				v.Other += one.Other
				if o.Progress != nil {
					o.Progress(v)
				}
				return err
			})
		})
		if err := group.Wait(); err != nil {
			return v, err
		}
		if err != nil {
			return v, err
		}
	}
	return v, nil
}

// patient is a source that is asked for its ranges again.
type patient struct {
	Source
	pipeline.Asking
}

// Ranges implements Source.
func (p patient) Ranges(ctx context.Context, after pipeline.Range) (all []pipeline.Range, err error) {
	err = p.Again(ctx, func() (err error) { all, err = p.Source.Ranges(ctx, after); return err })
	return all, err
}

// eachRange calls use with the ranges of a part.
func eachRange(ctx context.Context, from Source, part string, use func(pipeline.Range)) error {
	for after := (pipeline.Range{Part: part}); ; {
		ranges, err := from.Ranges(ctx, after)
		if err != nil || len(ranges) == 0 {
			return err
		}
		for _, after = range ranges {
			use(after)
		}
	}
}

// A Deletion is times (milliseconds, both included) of a series.
type Deletion struct {
	Series storage.Series `json:"series"`
	Spans  []Span         `json:"spans"`
}

// A Deleter deletes what a target has in addition.
type Deleter interface {
	Delete(ctx context.Context, list []Deletion) error
}

// prune deletes points of a range that only the target has. It returns how many there were. Where the source has something else at
// the same instant, such as another exemplar, that is deleted too: again is called with the time of it before, so that it is copied
// again.
func (c *comparison) prune(ctx context.Context, about pipeline.Range, to Deleter, again func(Span) error) (pruned int64, err error) {
	var list []Deletion
	shared := Span{about.Name, math.MaxInt64, math.MinInt64}
	_, err = c.compare(ctx, about, true, func(d difference) error {
		spans, both := spansBetween(d.extra, d.source)
		for _, t := range both {
			spans = append(spans, Span{"", t, t})
			shared.From, shared.To = min(shared.From, t), max(shared.To, t)
		}
		if len(spans) > 0 {
			list = append(list, Deletion{d.name, spans})
			pruned += int64(len(d.extra))
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	if shared.From <= shared.To {
		if err := again(shared); err != nil {
			return 0, err
		}
	}
	return pruned, to.Delete(ctx, list)
}

// spansBetween joins times into spans without a time that is kept. Times that are kept are returned as such. Both ascend.
func spansBetween(times, kept []int64) (spans []Span, both []int64) {
	for _, t := range times {
		at, found := slices.BinarySearch(kept, t)
		if found {
			both = append(both, t)
			continue
		}
		if n := len(spans); n > 0 && (at == 0 || kept[at-1] < spans[n-1].From) {
			spans[n-1].To = t
			continue
		}
		spans = append(spans, Span{"", t, t})
	}
	return spans, slices.Compact(both)
}

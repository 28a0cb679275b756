package aggregate

import (
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Histograms is histograms of one series or group in ascending order of time. Two of a series may have the same
// time.
type Histograms struct {
	Times  []int64 // milliseconds
	Values []schema.SimpleHistogram
}

// Len returns the number of histograms.
func (h *Histograms) Len() int { return len(h.Times) }

// Add appends a histogram.
func (h *Histograms) Add(time int64, value schema.SimpleHistogram) {
	h.Times, h.Values = append(h.Times, time), append(h.Values, value)
}

// Within returns the histograms from one time to another, both included. They share memory.
func (h Histograms) Within(start, end int64) Histograms {
	from, _ := slices.BinarySearch(h.Times, start)
	to, _ := slices.BinarySearch(h.Times, end+1)
	to = max(from, to)
	return Histograms{h.Times[from:to:to], h.Values[from:to:to]}
}

// AllTime is the time of the histogram of a downsampling to one interval. OpenTSDB 2.4 sets it before it knows of the
// interval, so it is never between the start and the end of a query.
const AllTime = 0

// HistogramsOf computes what concerns one series alone, of its histograms of the range that is scanned: it sums those of
// each interval. Fill policies and rates do not count. It may be called by several goroutines at once. What it returns may
// share memory with what it is given.
func (p *Plan) HistogramsOf(h Histograms) (Histograms, error) {
	d := p.Downsampling
	switch {
	case d == nil:
		return h, nil
	case d.All:
		var out Histograms
		from, _ := slices.BinarySearch(h.Times, p.Range.Start)
		to, _ := slices.BinarySearch(h.Times, p.Range.End)
		if from < to {
			out.Add(AllTime, sumOf(h.Values[from:to]))
		}
		return out, nil
	}
	steps, err := d.steps(p.Range)
	if err != nil {
		return Histograms{}, err
	}
	from, _ := slices.BinarySearch(h.Times, steps.ceil(p.Range.ScanStart))
	return summed(Histograms{h.Times[from:], h.Values[from:]}, steps), nil
}

// summed makes a histogram of each interval that has some.
func summed(h Histograms, g steps) (out Histograms) {
	times := Span{Times: h.Times}
	if h.Len() == 0 {
		return out
	}
	begin := g.floor(h.Times[0])
	for i := 0; i < h.Len(); {
		end := g.next(begin)
		j := i
		for j < h.Len() && h.Times[j] < end {
			j++
		}
		if j > i {
			out.Add(begin, sumOf(h.Values[i:j]))
		}
		i = j
		begin = g.toward(end, times, i)
	}
	return out
}

// sumOf returns the sum of histograms, of which there is at least one.
func sumOf(all []schema.SimpleHistogram) schema.SimpleHistogram {
	if len(all) == 1 {
		return all[0]
	}
	var out schema.SimpleHistogram
	for i := range all {
		out.Underflow += all[i].Underflow
		out.Overflow += all[i].Overflow
		out.Buckets = addBuckets(out.Buckets, all[i].Buckets)
	}
	return out
}

// addBuckets returns the sum of two lists of buckets, a's in its own memory if b has no others. Counts wrap around, as in
// Java.
func addBuckets(a, b []schema.HistogramBucket) []schema.HistogramBucket {
	if a == nil {
		return slices.Clone(b)
	}
	if slices.EqualFunc(a, b, func(x, y schema.HistogramBucket) bool { return x.Compare(y) == 0 }) {
		for i := range a {
			a[i].Count += b[i].Count
		}
		return a
	}
	out := make([]schema.HistogramBucket, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].Compare(b[0]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			sum := a[0]
			sum.Count += b[0].Count
			out, a, b = append(out, sum), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// pauseEvery is how many sums are computed between two pauses.
const pauseEvery = 1024

// SumHistograms returns the sum of the members of a group at each instant, up to the end of the range that is scanned. Of
// two histograms of a member at one instant each is added to those of the others that are as many from their first at it.
// pause is called from time to time; its error ends the computation.
func (p *Plan) SumHistograms(members []Histograms, pause func() error) (out Histograms, err error) {
	if len(members) == 1 {
		return members[0].Within(0, p.Range.ScanEnd), nil
	}
	type place struct {
		time       int64
		nth        int // of its member at the time
		member, at int
	}
	var places []place
	for m := range members {
		nth := 0
		for i, t := range members[m].Times {
			if nth++; i == 0 || t != members[m].Times[i-1] {
				nth = 0
			}
			if t <= p.Range.ScanEnd {
				places = append(places, place{t, nth, m, i})
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.nth, b.nth)) })
	var same []schema.SimpleHistogram
	for i := 0; i < len(places); {
		first := places[i]
		same = same[:0]
		for ; i < len(places) && places[i].time == first.time && places[i].nth == first.nth; i++ {
			same = append(same, members[places[i].member].Values[places[i].at])
		}
		out.Add(first.time, sumOf(same))
		if out.Len()%pauseEvery == 0 {
			if err := pause(); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// Percentile is SimpleHistogram.percentile of OpenTSDB 2.4: the middle of the bucket in which a percentile is, or -1 of a
// percentile below 1. It counts in 32 bits, and does not count what is below and above the buckets.
func Percentile(h *schema.SimpleHistogram, percentile float32) float64 {
	wanted := float64(percentile)
	if wanted < 1 || wanted > 100 {
		return -1
	}
	total := int32(0)
	for _, b := range h.Buckets {
		total += int32(b.Count)
	}
	running := int64(0)
	for _, b := range h.Buckets {
		running += int64(int32(b.Count))
		if float64(running)*100/float64(total) >= wanted {
			return float64((b.Lower + b.Upper) / 2)
		}
	}
	return 0
}

// CountIn returns the count of the bucket with the bounds of another one; 0 if there is none.
func CountIn(h *schema.SimpleHistogram, bucket schema.HistogramBucket) int64 {
	i, found := slices.BinarySearchFunc(h.Buckets, bucket, schema.HistogramBucket.Compare)
	if !found {
		return 0
	}
	return h.Buckets[i].Count
}

package head

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// delete removes what the model has of a series from start to end.
func (m model) delete(id uint32, start, end int64) {
	for p := range m {
		if p.id == id && p.time >= start && p.time <= end {
			delete(m, p)
		}
	}
}

// hours returns the begins (seconds) of the hours that the model has anything of.
func (m model) hours(id uint32) (bases []uint32) {
	for p := range m {
		if p.id == id {
			bases = append(bases, uint32(p.time/hour*hour/1000))
		}
	}
	slices.Sort(bases)
	return slices.Compact(bases)
}

// times returns the instants of a series, in order.
func (m model) times(id uint32) (times []int64) {
	for p := range m {
		if p.id == id {
			times = append(times, p.time)
		}
	}
	slices.Sort(times)
	return times
}

// checkHours compares Any and Hours with the model.
func checkHours(t *testing.T, h *Head, want model, id uint32) {
	t.Helper()
	var got []uint32
	h.Hours(id, func(base uint32) { got = append(got, base) })
	slices.Sort(got)
	if hours := want.hours(id); !slices.Equal(got, hours) {
		t.Fatalf("Hours(%d) = %v, want %v", id, got, hours)
	} else if h.Any(id) != (len(hours) > 0) {
		t.Fatalf("Any(%d) = %v with hours %v", id, h.Any(id), hours)
	}
}

// TestDeleteAgainstModel deletes at random between random batches: whole hours, several hours, parts
// of an hour, single instants and times that nothing lies in. Later writes of the same instants stay.
func TestDeleteAgainstModel(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random histories with deletions", 20, 20, 2000) {
		w := writer{rng: rand.New(rand.NewPCG(seed, 6)), clock: begin, starts: true}
		h, m := New(DefaultOptions()), model{}
		for step := range 30 {
			b := w.batch()
			m.append(b)
			h.Append(b, uint64(step))
			id := someIDs[w.rng.IntN(len(someIDs))]
			start := begin + w.rng.Int64N(3*hour)
			if of := m.times(id); len(of) > 0 && w.rng.IntN(3) > 0 {
				start = of[w.rng.IntN(len(of))]
			}
			end := start
			switch w.rng.IntN(6) {
			case 0:
				start, end = start/hour*hour, start/hour*hour+hour-1
			case 1:
				end += w.rng.Int64N(2 * hour)
			case 2:
				start, end = start-w.rng.Int64N(600_000), start // the end is a point's
			case 3:
				start, end = begin-hour, begin-1
			case 4:
				start, end = math.MinInt64, math.MaxInt64
			}
			h.Delete(id, start, end)
			m.delete(id, start, end)
			checkStats(t, h)
			for _, id := range someIDs {
				checkHours(t, h, m, id)
			}
		}
		for _, id := range someIDs {
			checkSeries(t, h, m, id, math.MinInt64, math.MaxInt64)
		}
	}
}

// TestRemoveOneHour removes one hour of one series, and nothing that is handed out.
func TestRemoveOneHour(t *testing.T) {
	h, m := New(DefaultOptions()), model{}
	b := &Batch{}
	for _, id := range someIDs[:2] {
		for at := range int64(3) {
			b.IDs, b.Times, b.Values = append(b.IDs, id), append(b.Times, begin+at*hour), append(b.Values, float64(at))
		}
	}
	m.append(b)
	h.Append(b, 1)
	h.Remove(someIDs[0], uint32((begin+hour)/1000))
	m.delete(someIDs[0], begin+hour, begin+2*hour-1)
	h.Remove(someIDs[0], uint32((begin+9*hour)/1000))
	for _, id := range someIDs[:2] {
		checkSeries(t, h, m, id, math.MinInt64, math.MaxInt64)
		checkHours(t, h, m, id)
	}
	for sealed := range h.Seal(Everything()) {
		for _, r := range sealed.Rows {
			h.Remove(r.ID, r.Base)
		}
		sealed.Keep()
	}
	for _, id := range someIDs[:2] {
		checkSeries(t, h, m, id, math.MinInt64, math.MaxInt64)
	}
}

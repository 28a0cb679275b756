package source

import (
	"math"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// A layout is the slots that the points of a name go into: those of a whisper file's archives, or
// of one step without an end.
type layout struct {
	archives    []conf.Archive // the finest first
	endless     bool           // nothing is too old for the last archive
	aggregation conf.Aggregation
	kept        *Kept // nil: the coarser archives are made of the points alone
}

// steady returns the layout of names that no rule matches.
func steady(step int64) layout {
	return layout{archives: []conf.Archive{{Step: step}}, endless: true}
}

// A grid is a run of slots of one archive: those of step seconds that begin at or after start and
// before end (epoch seconds).
type grid struct {
	start, end, step int64
	level            int // of the archive
}

func (g grid) slots() int64 { return (g.end - g.start) / g.step }

// contains reports whether all slots of another grid are among these.
func (g grid) contains(o grid) bool {
	return g.step == o.step && g.level == o.level && g.start <= o.start && o.end <= g.end
}

// millis returns the first and the last millisecond of the slots.
func (g grid) millis() (start, end int64) { return g.start * 1000, g.end*1000 - 1 }

// farthest bounds times, in seconds: no product with 1000 overflows, and no point is out there.
const farthest = 1 << 40

// grid returns what whisper.file_fetch reads: slots of the first archive that reaches back to from,
// without those that are too old or in the future. ok is false when there is nothing to read. from
// itself is excluded and the slot of until is included.
func (l layout) grid(from, until, now int64) (g grid, ok bool) {
	from, until, now = inReach(from), inReach(until), inReach(now)
	if from > now || from > until {
		return grid{}, false
	}
	if !l.endless {
		oldest := now - l.archives[len(l.archives)-1].Retention()
		if until < oldest {
			return grid{}, false
		}
		from = max(from, oldest)
		for l.archives[g.level].Retention() < now-from {
			g.level++
		}
	}
	g.step = l.archives[g.level].Step
	g.start, g.end = series.Grid(from, min(until, now), g.step)
	return g, true
}

func inReach(t int64) int64 { return min(max(t, -farthest), farthest) }

// fill puts points, ascending by time in milliseconds, into the slots of a grid that contains them.
// The last point of a slot stays, as in whisper. NaN is not a point.
func (l layout) fill(g grid, values []float64, times []int64, points []float64, inner innerSlots) {
	if g.level > 0 {
		l.fold(g, values, times, points, inner)
		return
	}
	start, step := g.start*1000, g.step*1000
	for i, t := range times {
		if v := points[i]; !math.IsNaN(v) {
			values[(t-start)/step] = v
		}
	}
}

// fold fills slots of a coarser archive by way of the finer ones, as whisper does when every point
// arrives in time. Slots of a kept archive that have no newer points stay as they are.
func (l layout) fold(g grid, values []float64, times []int64, points []float64, inner innerSlots) {
	start, fine := g.start*1000, l.archives[0].Step*1000
	perSlot := g.step / l.archives[0].Step
	slots, known := newSlots(perSlot), []float64(nil)
	current, newest := int64(-1), int64(0)
	flush := func() {
		if current < 0 || l.keeps(g.level) && newest < l.kept.Until*1000 {
			return
		}
		begin := g.start + current*g.step
		var within innerSlots
		if l.kept != nil && begin < l.kept.Until {
			within = inner
		}
		values[current], known = l.consolidate(g.level, begin, slots, known, within)
	}
	for i, t := range times {
		if math.IsNaN(points[i]) {
			continue
		}
		at := (t - start) / fine
		if at/perSlot != current {
			flush()
			current = at / perSlot
			clearSlots(slots)
		}
		slots[at%perSlot], newest = points[i], t
	}
	flush()
}

// consolidate makes one slot of an archive, which begins at a time, of the slots of the finest one, which it
// overwrites, archive by archive. Where there are inner slots of an archive these count. known is scratch.
func (l layout) consolidate(level int, begin int64, slots, known []float64, inner innerSlots) (v float64, scratch []float64) {
	for i := 1; i <= level; i++ {
		ratio := int(l.archives[i].Step / l.archives[i-1].Step)
		for n := range len(slots) / ratio {
			known = known[:0]
			for _, v := range slots[n*ratio : (n+1)*ratio] {
				if !python.IsNone(v) {
					known = append(known, v)
				}
			}
			slots[n] = python.None()
			if v, ok := l.aggregation.Slot(known, ratio); ok {
				slots[n] = v
			}
			if of := inner[i]; of != nil && begin+int64(n+1)*l.archives[i].Step <= l.kept.Until {
				slots[n] = of[n]
			}
		}
		slots = slots[:len(slots)/ratio]
	}
	return slots[0], known
}

// newSlots returns slots without points.
func newSlots(n int64) []float64 {
	slots := make([]float64, n)
	clearSlots(slots)
	return slots
}

func clearSlots(slots []float64) {
	none := python.None()
	for i := range slots {
		slots[i] = none
	}
}

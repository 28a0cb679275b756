package source

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A whisper file that was imported tells what the slots of its coarser archives were. Where they end before the end of
// what the file knows, or no newer point has come, they are shown. Later ones are made of the points, and so is the
// slot in which the file ends, of which the finer archives of the file know the beginning.

// innerSlots are, by the place of an archive, its slots within the one slot of a coarser archive in which a file ends.
type innerSlots map[int][]float64

// keeps reports whether the slots of an archive are in the store.
func (l layout) keeps(level int) bool {
	return l.kept != nil && level > 0 && slices.Contains(l.kept.Steps, l.archives[level].Step)
}

// layoutOf returns the layout of one of the stored series of a target.
func (l *targetSeries) layoutOf(ref storage.Ref) layout {
	one := l.layout
	one.kept = l.kept[ref]
	return one
}

// lastSlot returns the slot in which what the files of a target know ends. ok is false if it ends with a slot, or
// before or after the grid.
func (j *job) lastSlot() (begin int64, ok bool) {
	kept := j.target.layout.kept
	if kept == nil {
		return 0, false
	}
	begin = kept.Until - kept.Until%j.grid.step
	return begin, begin < kept.Until && begin >= j.grid.start && begin < j.grid.end
}

// pointsFrom returns from when on, in milliseconds, the points of a job are needed.
func (j *job) pointsFrom() int64 {
	from := j.grid.end
	for _, ref := range j.target.refs {
		if l := j.target.layoutOf(ref); l.keeps(j.grid.level) {
			from = min(from, max(j.grid.start, l.kept.Until-l.kept.Until%j.grid.step))
			continue
		}
		return j.grid.start * 1000
	}
	return from * 1000
}

// A keptRead is slots of one archive that are wanted.
type keptRead struct{ step, from, to int64 }

// A keptUse is who wants them.
type keptUse struct {
	job   *job
	level int
}

// readKept fills the slots of jobs from the archives that were imported.
func (r *reading) readKept(ctx context.Context, archives Archives) error {
	wanted := map[keptRead][]keptUse{}
	for _, j := range r.jobs {
		level := j.grid.level
		if level == 0 || j.target.kept == nil {
			continue
		}
		wanted[keptRead{j.grid.step, j.grid.start, j.grid.end}] = append(wanted[keptRead{j.grid.step, j.grid.start, j.grid.end}], keptUse{j, level})
		begin, ok := j.lastSlot()
		for inner := 1; ok && inner < level; inner++ {
			if j.target.layout.keeps(inner) {
				step := j.target.layout.archives[inner].Step
				if j.inner == nil {
					j.inner = innerSlots{}
				}
				j.inner[inner] = newSlots(j.grid.step / step)
				wanted[keptRead{step, begin, begin + j.grid.step}] = append(wanted[keptRead{step, begin, begin + j.grid.step}], keptUse{j, inner})
			}
		}
	}
	for read, uses := range wanted {
		if err := readKept(ctx, archives, read, uses); err != nil {
			return err
		}
	}
	return nil
}

func readKept(ctx context.Context, archives Archives, read keptRead, uses []keptUse) error {
	users := map[storage.Ref][]keptUse{}
	var refs []storage.Ref
	for _, u := range uses {
		for _, ref := range u.job.target.refs {
			if kept := u.job.target.kept[ref]; kept == nil || !slices.Contains(kept.Steps, read.step) {
				continue
			}
			if users[ref] == nil {
				refs = append(refs, ref)
			}
			users[ref] = append(users[ref], u)
		}
	}
	slices.Sort(refs)
	q := storage.ArchiveQuery{Refs: refs, Step: uint32(read.step), From: read.from, To: read.to}
	err := archives.Read(ctx, q, func(ref storage.Ref, times []int64, values []float64) {
		for _, u := range users[ref] {
			u.job.takeKept(ref, u.level, read, times, values)
		}
	})
	if err != nil {
		return fmt.Errorf("read archives of %d series: %w", len(refs), err)
	}
	return nil
}

// takeKept takes slots of a series.
func (j *job) takeKept(ref storage.Ref, level int, read keptRead, times []int64, values []float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	to := j.values
	switch {
	case level < j.grid.level:
		to = j.inner[level]
	case j.target.sum && len(j.target.refs) > 1:
		to = j.part(ref)
	}
	for i, t := range times {
		to[(t-read.from)/read.step] = values[i]
	}
}

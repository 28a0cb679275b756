package resultcache

import (
	"errors"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
)

// notes are what is known of the annotations of an answer. Most annotations have one text for all
// steps, so that an evaluation of some steps tells that they belong to the answer. The annotation of
// repaired buckets sums up all steps, so its parts are kept by step.
type notes struct {
	texts   map[string]string // with their positions, by annotation
	vectors []repaired        // in the order of their evaluation
}

// repaired is the steps at which the buckets of a vector were repaired.
type repaired struct {
	position posrange.PositionRange
	steps    []repair // by time
}

type repair struct {
	time int64
	annotation.Repair
}

// repairBytes is the memory of a repair.
const repairBytes = 40

// newNotes returns the notes of a result, and false if they do not tell the annotations of a part of
// it. text is that of the query.
func newNotes(r *promql.Result, repairs *annotation.Repairs, text string) (n notes, ok bool) {
	n.texts = map[string]string{}
	vectors, known := repairs.Vectors()
	for raw, w := range r.Warnings {
		switch shown, ok := shownText(w, text); {
		case !ok, errors.Is(w, annotations.StartTimeOverlapWarning):
			return n, false
		case !errors.Is(w, annotations.HistogramQuantileForcedMonotonicityInfo):
			n.texts[raw] = shown
		case !known:
			return n, false
		}
	}
	for _, v := range vectors {
		one := repaired{position: v.Position, steps: make([]repair, 0, len(v.Steps))}
		for _, t := range slices.Sorted(maps.Keys(v.Steps)) {
			one.steps = append(one.steps, repair{t, v.Steps[t]})
		}
		n.vectors = append(n.vectors, one)
	}
	return n, true
}

// shownText returns the text of an annotation with its position. It returns false for an error that
// is not of PromQL, which says nothing about other evaluations.
func shownText(err error, query string) (string, bool) {
	a, ok := err.(interface{ SetQuery(text string) })
	if !ok || !errors.Is(err, annotations.PromQLInfo) && !errors.Is(err, annotations.PromQLWarning) {
		return "", false
	}
	a.SetQuery(query)
	defer a.SetQuery("")
	return err.Error(), true
}

// between returns the notes of some steps. Texts stay: a later evaluation has to confirm them.
func (n notes) between(g grid) notes {
	part := notes{texts: n.texts, vectors: make([]repaired, 0, len(n.vectors))}
	for _, v := range n.vectors {
		from, _ := slices.BinarySearchFunc(v.steps, g.first, repair.compare)
		to, _ := slices.BinarySearchFunc(v.steps, g.last+1, repair.compare)
		part.vectors = append(part.vectors, repaired{v.position, v.steps[from:to]})
	}
	return part
}

func (r repair) compare(t int64) int { return int(min(max(r.time-t, -1), 1)) }

// join returns the notes of an answer followed by another one. It returns false if they do not tell
// the annotations of the whole: a text of the first steps that the later ones do not confirm may be
// one of steps that are gone, and which of two positions is shown depends on all steps.
func (n notes) join(next notes) (notes, bool) {
	whole := notes{texts: next.texts, vectors: make([]repaired, 0, len(next.vectors))}
	for raw, text := range n.texts {
		if next.texts[raw] != text {
			return notes{}, false
		}
	}
	if len(n.vectors) != len(next.vectors) {
		return notes{}, false
	}
	for i, v := range n.vectors {
		if v.position != next.vectors[i].position {
			return notes{}, false
		}
		whole.vectors = append(whole.vectors, repaired{v.position, slices.Concat(v.steps, next.vectors[i].steps)})
	}
	return whole, true
}

// annotations returns the annotations of an answer at the steps of a grid. evaluated are those of its last
// steps. They are made anew, because the API writes into them.
func (n notes) annotations(evaluated annotations.Annotations, g grid) annotations.Annotations {
	var all annotations.Annotations
	for raw, w := range evaluated {
		if _, ok := n.texts[raw]; ok {
			all.Add(w)
		}
	}
	for _, v := range n.vectors {
		if len(v.steps) > 0 {
			all.Merge(v.annotations(g))
		}
	}
	return all
}

// annotations returns those of the repairs of all steps.
func (v repaired) annotations(g grid) annotations.Annotations {
	r := annotation.Repaired{Position: v.position, Steps: make(map[int64]annotation.Repair, len(v.steps))}
	for _, one := range v.steps {
		r.Steps[one.time] = one.Repair
	}
	return r.Annotations(g.first, g.last, g.step)
}

// bytes estimates the memory of the notes.
func (n notes) bytes() int64 {
	all := int64(0)
	for raw, text := range n.texts {
		all += int64(len(raw) + len(text) + seriesBytes)
	}
	for _, v := range n.vectors {
		all += seriesBytes + repairBytes*int64(len(v.steps))
	}
	return all
}

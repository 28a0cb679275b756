// Package annotation collects the annotations that the operators of a PromQL query make, and the repairs of
// histogram buckets. It does not decide in which order they are merged.
package annotation

import (
	"sync"

	"github.com/prometheus/prometheus/util/annotations"
)

// Notes are the annotations that one operator makes, without those of its inputs. What becomes of them is
// decided when the query is evaluated.
type Notes struct {
	mu    sync.Mutex // guards the rest
	texts annotations.Annotations
	// last is the annotation of a binary operation for each step.
	last map[int]lastNote
	// Repairs are those of buckets, by the names of metrics.
	Repairs map[string]map[int64]Repair
}

// lastNote is the annotation of a binary operation for one pair of operands. The library keeps that of the last
// pair of a step.
type lastNote struct {
	pair int
	err  error // nil: it hides those of others
}

// Empty reports whether there are none.
func (n *Notes) Empty() bool { return len(n.texts)+len(n.last)+len(n.Repairs) == 0 }

// AllNotes returns the notes, as those of an operator that embeds them.
func (n *Notes) AllNotes() []*Notes { return []*Notes{n} }

// Warn records an annotation.
func (n *Notes) Warn(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts.Add(err)
}

// Merge records annotations.
func (n *Notes) Merge(a annotations.Annotations) {
	if len(a) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts.Merge(a)
}

// WarnStep records the annotation of a binary operation for a pair at a step. nil hides those of pairs before it.
func (n *Notes) WarnStep(step, pair int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before, ok := n.last[step]; ok && before.pair > pair {
		return
	}
	if n.last == nil {
		n.last = map[int]lastNote{}
	}
	n.last[step] = lastNote{pair, err}
}

// Repair records that the buckets of a metric were repaired at a time.
func (n *Notes) Repair(name string, at int64, one Repair) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Repairs == nil {
		n.Repairs = map[string]map[int64]Repair{}
	}
	steps := n.Repairs[name]
	if steps == nil {
		steps = map[int64]Repair{}
		n.Repairs[name] = steps
	}
	if before, ok := steps[at]; ok {
		one = before.Join(one)
	}
	steps[at] = one
}

// Annotations returns the annotations but for those of repairs.
func (n *Notes) Annotations() annotations.Annotations {
	var all annotations.Annotations
	all.Merge(n.texts)
	for _, last := range n.last {
		if last.err != nil {
			all.Add(last.err)
		}
	}
	return all
}

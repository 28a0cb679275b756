package rangeql

import (
	"sync"

	"github.com/prometheus/prometheus/util/annotations"
)

// notes are the annotations that one operator makes, without those of its inputs. What becomes of them is
// decided when the query is evaluated (annotate.go).
type notes struct {
	mu    sync.Mutex // guards the rest
	texts annotations.Annotations
	// last is what a binary operation tells of each step.
	last map[int]lastNote
	// repairs are those of buckets, by the names of metrics.
	repairs map[string]map[int64]Repair
}

// lastNote is what a binary operation tells of one pair of operands. The library keeps that of the last
// pair of a step.
type lastNote struct {
	pair int
	err  error // nil: it hides what others tell, and tells nothing
}

// empty reports whether there are none.
func (n *notes) empty() bool { return len(n.texts)+len(n.last)+len(n.repairs) == 0 }

// warn records an annotation.
func (n *notes) warn(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts.Add(err)
}

// merge records annotations.
func (n *notes) merge(a annotations.Annotations) {
	if len(a) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts.Merge(a)
}

// tell records what a binary operation tells of a pair at a step. nil hides what pairs before it tell.
func (n *notes) tell(step, pair int, err error) {
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

// repair records that the buckets of a metric were repaired at a time.
func (n *notes) repair(name string, at int64, one Repair) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.repairs == nil {
		n.repairs = map[string]map[int64]Repair{}
	}
	steps := n.repairs[name]
	if steps == nil {
		steps = map[int64]Repair{}
		n.repairs[name] = steps
	}
	if before, ok := steps[at]; ok {
		one = before.Join(one)
	}
	steps[at] = one
}

// told returns the annotations but for those of repairs.
func (n *notes) told() annotations.Annotations {
	var all annotations.Annotations
	all.Merge(n.texts)
	for _, last := range n.last {
		if last.err != nil {
			all.Add(last.err)
		}
	}
	return all
}

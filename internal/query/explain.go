package query

import (
	"strings"
	"time"
)

// An Explanation tells how a query was answered.
type Explanation struct {
	Language string    `json:"language"`
	Query    string    `json:"query"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
	Step     float64   `json:"step"`           // seconds; 0: an instant, or each series has its own
	Path     string    `json:"path,omitempty"` // by what it was evaluated, where there are several
	Left     string    `json:"left,omitempty"` // why it was not evaluated by the usual one
	Seconds  float64   `json:"seconds"`
	Series   int       `json:"series"`
	Samples  int       `json:"samples"`
	Memory   int64     `json:"memoryBytes"` // held at once, at most
	Rows     int64     `json:"rows"`
	Cells    int64     `json:"cells"`
	Bytes    int64     `json:"bytes"`

	Ways     []WayCounts `json:"ways"`
	Plan     *Node       `json:"plan,omitempty"`
	Reads    []*Read     `json:"reads"`
	Warnings []string    `json:"warnings,omitempty"`
	Infos    []string    `json:"infos,omitempty"`
}

// Count fills in what was read.
func (a *Explanation) Count(t *Tally) {
	a.Ways = t.Ways()
	sum := SumWays(a.Ways)
	a.Rows, a.Cells, a.Bytes = sum.Rows, sum.Cells, sum.Bytes
}

// A Node is an operator, a function or a part of a query.
type Node struct {
	ID         int     `json:"id"`
	Operator   string  `json:"operator"`
	Expression string  `json:"expression,omitempty"`
	Shared     int     `json:"shared,omitempty"` // how many nodes use it, if several do
	Again      bool    `json:"again,omitempty"`  // shown before, under the same ID
	NotDone    bool    `json:"notDone,omitempty"`
	Series     int     `json:"series"`
	Samples    int     `json:"samples"`
	Seconds    float64 `json:"seconds"`         // without inputs and reads
	Bytes      int64   `json:"bytes,omitempty"` // of its reads
	Reads      []int   `json:"reads,omitempty"` // indexes into the reads
	Inputs     []*Node `json:"inputs,omitempty"`
	// More is how many inputs are not shown, because there are too many.
	More int `json:"more,omitempty"`
}

// A Read is what was read for some series.
type Read struct {
	Selector  string    `json:"selector"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	Series    int       `json:"series"`
	Samples   int64     `json:"samples"`
	Summaries int64     `json:"summaries,omitempty"` // intervals of rollup tables, read instead of samples
	Seconds   float64   `json:"seconds"`
	Computing float64   `json:"computingSeconds"` // of all cores
	Rows      int64     `json:"rows"`
	Cells     int64     `json:"cells"`
	Bytes     int64     `json:"bytes"`

	Ways  []WayCounts `json:"ways"`
	Plans any         `json:"plans,omitempty"` // how the planner would read it now
}

// Count fills in what was read.
func (r *Read) Count(t *Tally) {
	r.Ways = t.Ways()
	sum := SumWays(r.Ways)
	r.Rows, r.Cells, r.Bytes = sum.Rows, sum.Cells, sum.Bytes
}

// Small returns a copy of a tree with at most so many nodes, and at most so many bytes of each text, which refers to
// no other memory.
func (n *Node) Small(nodes, text int) *Node {
	if n == nil {
		return nil
	}
	return n.small(&nodes, text)
}

func (n *Node) small(nodes *int, text int) *Node {
	*nodes--
	out := *n
	out.Operator, out.Expression = CutText(n.Operator, text), CutText(n.Expression, text)
	out.Reads, out.Inputs = append([]int(nil), n.Reads...), nil
	for i, in := range n.Inputs {
		if *nodes <= 0 {
			out.More += len(n.Inputs) - i
			break
		}
		out.Inputs = append(out.Inputs, in.small(nodes, text))
	}
	return &out
}

// CutText shortens a text, and lets go of the memory of a longer one that it is a part of.
func CutText(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(strings.Clone(text), "\uFFFD")
	}
	return strings.ToValidUTF8(strings.Clone(text[:most]), "") + "…"
}

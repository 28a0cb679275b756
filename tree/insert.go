package tree

import (
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Step is one cell that a series needs in its tree. It is written only where there is none: an
// older branch or leaf stands.
type Step struct {
	Row, Qualifier, Value []byte
	// Leaf is the TSUID whose leaf this is, nil for a branch.
	Leaf []byte
}

// Steps returns the cells of a route in the order of writing: the root, the branches downwards, the
// leaf. A TSD writes the root for every series that it processes, even if the series gets no leaf.
// It writes no leaf for a path of one name; with rootLeaves that leaf is written too, on the root,
// where a TSD reads it.
func (t *Tree) Steps(tsuid []byte, r Route, rootLeaves bool) []Step {
	steps := []Step{branchStep(t.id, nil)}
	if r.Outcome != Stored && (r.Outcome != OnRoot || !rootLeaves) {
		return steps
	}
	for depth := range r.Branches {
		steps = append(steps, branchStep(t.id, r.Branches[:depth+1]))
	}
	return append(steps, leafStep(steps[len(steps)-1].Row, r.Leaf, tsuid))
}

func branchStep(id uint16, names []string) Step {
	return Step{Row: schema.BranchRow(id, names...), Qualifier: schema.BranchQualifier(), Value: branchValue(names)}
}

func branchValue(names []string) []byte { return schema.NewBranch(names...).AppendTo(nil) }

func leafStep(branch []byte, name string, tsuid []byte) Step {
	return Step{Row: branch, Qualifier: schema.LeafQualifier(name), Value: leafValue(name, tsuid), Leaf: tsuid}
}

func leafValue(name string, tsuid []byte) []byte {
	leaf := schema.Leaf{DisplayName: name, TSUID: tsuid}
	return leaf.AppendTo(make([]byte, 0, leaf.MaxSize()))
}

// Collision returns the change of the row of collisions when another series has the leaf; ok is
// false when the tree does not keep them. A TSD only sometimes gets to write it.
func (t *Tree) Collision(tsuid, holder []byte) (m kv.Mutation, ok bool) {
	put := kv.Put{Qualifier: schema.CollisionQualifier(tsuid), Value: []byte(schema.FormatTSUID(holder))}
	return kv.Mutation{Key: schema.CollisionRow(t.id), Puts: []kv.Put{put}}, t.def.StoreFailures
}

// Refusal returns the change of the row of series without a match; ok is false when there is none
// to keep. A TSD means to write it and never does.
func (t *Tree) Refusal(tsuid []byte, r Route) (m kv.Mutation, ok bool) {
	put := kv.Put{Qualifier: schema.NotMatchedQualifier(tsuid), Value: []byte(r.Unmatched)}
	return kv.Mutation{Key: schema.NotMatchedRow(t.id), Puts: []kv.Put{put}}, t.def.StoreFailures && r.Outcome == Refused
}

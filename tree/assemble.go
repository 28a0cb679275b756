package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// assembly makes branches and a leaf of the names of a walk, from the last back to the first: the
// last name that is not empty is the leaf, empty ones are left out, and equal ones in a row become
// one branch. The leaf may have the name of its branch.
type assembly struct {
	tree  uint16
	tsuid []byte
	names []string
	said  *transcript

	made    Route
	current int // the name of the branch made last, before that the one that the leaf may have
}

func (a *assembly) route() Route {
	a.current = len(a.names) - 1
	for i := range slices.Backward(a.names) {
		parent := ""
		if i > 0 {
			parent = a.names[i-1]
		}
		if a.made.Leaf == "" {
			a.leaf(i, parent)
		} else {
			a.branch(i, parent)
		}
	}
	r := &a.made
	slices.Reverse(r.Branches)
	switch {
	case r.Leaf == "":
		r.Outcome = NoMatch
	case len(r.Branches) == 0:
		r.Outcome = OnRoot
	case r.Branches[0] == schema.RootName:
		// Branch.compileBranchId: a name that ends the path already does not make it longer
		r.Branches = r.Branches[1:]
	}
	return shallow(a.made)
}

// leaf is step i back while there is no leaf.
func (a *assembly) leaf(i int, parent string) {
	switch {
	case a.names[a.current] == "":
		a.current = i - 1
		return
	case i > 0 && parent == "":
		a.say(i, "Parent branch was empty, rolling back")
		return
	}
	a.made.Leaf = a.names[a.current]
	on := "Name: [" + parent + "]"
	if i > 0 {
		a.made.Branches = append(a.made.Branches, parent)
	} else if a.said != nil {
		on = fmt.Sprintf("ID: [%04X] Name: [%s]", a.tree, schema.RootName)
	}
	if a.said != nil {
		a.say(i, "Adding leaf [name: ", a.made.Leaf, " tsuid: ", schema.FormatTSUID(a.tsuid), "] to parent branch [", on, "]")
	}
	a.current = i - 1
}

// branch is step i back once there is a leaf.
func (a *assembly) branch(i int, parent string) {
	name := a.names[a.current]
	switch {
	case i == 0: // the branch below the root
	case parent == "":
		a.say(i, "Skipping a non-matched branch, returning: Name: [", name, "]")
	case name == parent:
		a.say(i, "Current was the same as previous")
	default:
		a.say(i, "Adding branch: Name: [", name, "] to parent: Name: [", parent, "]")
		a.made.Branches = append(a.made.Branches, parent)
		a.current = i - 1
	}
}

// say records the message of a TSD in step i, which a TSD calls depth i+2.
func (a *assembly) say(i int, parts ...string) {
	if a.said != nil {
		a.said.say(fmt.Sprintf("Depth [%d] ", i+2), strings.Join(parts, ""))
	}
}

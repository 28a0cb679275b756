package admin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// treeID returns the tree that treepurge is about.
func (u *UIDRequest) treeID() (uint16, error) {
	id, err := strconv.ParseUint(u.Names[0], 10, 16)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%s: want the id of a tree, 1 to 65535", u.Names[0])
	}
	return uint16(id), nil
}

// purgeTree deletes the branches and leaves of a tree, and its definition if that is asked for. Without
// --yes it tells what would be deleted, with the exit code 1.
func purgeTree(ctx context.Context, tables UIDTables, u UIDRequest, printLine func(string) error) (code int, err error) {
	id, err := u.treeID()
	if err != nil {
		return 0, err
	}
	editor := tables.Trees.Editor()
	d, err := editor.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	n, err := forest.Count(ctx, tables.DB, tables.TreeTable, id)
	if err != nil {
		return 0, err
	}
	what := fmt.Sprintf("tree %d (%s): %d branches, %d leaves, %d collisions and %d series without a match", id, d.Name, n.Branches, n.Leaves, n.Collisions, n.NotMatched)
	if u.Definition {
		what += ", and its definition and rules"
	}
	if !u.Yes {
		return exitNothing, printLine(what + ", would be deleted: give --yes")
	}
	remove := editor.Clear
	if u.Definition {
		remove = editor.Remove
	}
	if err := remove(ctx, id); err != nil {
		return 0, err
	}
	return 0, printLine(what + ", deleted")
}

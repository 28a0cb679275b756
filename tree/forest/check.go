package forest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// CheckOptions are what a Checker needs.
type CheckOptions struct {
	Options
	MetaTable string
	Catalog   Catalog
	// Mends means that rows may be changed: other processes write to the tables, or none does.
	Mends bool
}

// A Checker checks tsdb-tree: rows against the schema, branches against their parents, and leaves
// against the series and the rules. It is a fsck.Source.
type Checker struct {
	db kv.KV
	o  CheckOptions
}

// NewChecker returns a Checker.
func NewChecker(db kv.KV, o CheckOptions) *Checker { return &Checker{db, o} }

var _ fsck.Source = (*Checker)(nil)

// Plan implements fsck.Source. Trees are not checked for single metrics or hours.
func (c *Checker) Plan(ctx context.Context, q fsck.Query, n int) (stretches []fsck.Stretch, err error) {
	if !q.Checks(fsck.TableTree) || !q.Whole() {
		return nil, nil
	}
	parts := []kv.Scan{{Table: c.o.TreeTable, Family: schema.FamilyData}}
	if splitter, ok := c.db.(kv.Splitter); ok {
		if parts, err = splitter.Split(ctx, parts[0], max(n, 1)); err != nil {
			return nil, err
		}
	}
	for _, p := range parts {
		stretches = append(stretches, fsck.Stretch{Table: p.Table, From: p.Start, To: p.Stop})
	}
	return stretches, nil
}

// Check implements fsck.Source.
func (c *Checker) Check(ctx context.Context, s fsck.Stretch, q fsck.Query, report func(fsck.Step) error) error {
	forest := New(c.db, c.o.Options)
	if err := forest.LoadTrees(ctx); err != nil {
		return err
	}
	w := &check{Checker: c, forest: forest, fix: map[fsck.Kind]bool{}, trees: map[uint16]*Tree{}, broken: map[uint16]error{}}
	for _, k := range q.Fix {
		w.fix[k] = fsck.CanMend(k)
	}
	for _, t := range forest.Trees() {
		w.trees[t.ID()] = t
	}
	for _, b := range forest.Broken() {
		w.broken[b.ID] = b.Err
	}
	return w.all(ctx, s, report)
}

const (
	// checkRows and checkBytes bound the rows that are checked together.
	checkRows  = 512
	checkBytes = 4 << 20
)

// check is the check of a stretch.
type check struct {
	*Checker
	forest *Forest
	fix    map[fsck.Kind]bool
	trees  map[uint16]*Tree
	broken map[uint16]error
	parent []byte // the row of a branch that was seen last: its ancestors are there too
}

// all checks the rows of a stretch, page after page.
func (w *check) all(ctx context.Context, s fsck.Stretch, report func(fsck.Step) error) error {
	for from := s.From; ; {
		page, next, err := w.page(ctx, from, s.To)
		if err != nil {
			return err
		}
		step := fsck.Step{At: next, Rows: int64(len(page))}
		if step.Findings, err = w.check(ctx, page); err != nil {
			return err
		}
		for i := range page {
			step.Cells += int64(len(page[i].Cells))
		}
		if err := report(step); err != nil || next == nil {
			return err
		}
		from = next
	}
}

// page reads some rows, and returns where to continue; nil at the end.
func (w *check) page(ctx context.Context, from, to []byte) (page []kv.Row, next []byte, err error) {
	size := 0
	for r, err := range w.db.Scan(ctx, kv.Scan{Table: w.o.TreeTable, Family: schema.FamilyData, Start: from, Stop: to}) {
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", w.o.TreeTable, err)
		}
		page = append(page, r)
		for _, c := range r.Cells {
			size += len(c.Qualifier) + len(c.Value)
		}
		if len(page) == checkRows || size >= checkBytes {
			return page, append(slices.Clone(r.Key), 0), nil
		}
	}
	return page, nil, nil
}

// A checkedRow is a row with what is wrong with it.
type checkedRow struct {
	kv.Row
	tree   uint16
	list   []fsck.Finding
	leaves []checkedLeaf
	branch *schema.Branch // nil: there is none, or it cannot be read
	// what mends it
	deletes []kv.Delete
	parents []kv.Mutation // branches that are to be put, unless they are there
	gone    bool          // all of it
}

// A checkedLeaf is a cell that names a series.
type checkedLeaf struct {
	cell    kv.Cell
	tsuid   []byte
	hash    uint32   // of a leaf's name
	names   []string // of a collided leaf: its path
	failure bool     // it tells that the series has no leaf
}

// add adds a finding. It returns whether the kind is to be mended.
func (w *check) add(r *checkedRow, k fsck.Kind, format string, args ...any) bool {
	i := slices.IndexFunc(r.list, func(f fsck.Finding) bool { return f.Kind == k })
	if i < 0 {
		i = len(r.list)
		r.list = append(r.list, fsck.Finding{
			Kind: k, Table: w.o.TreeTable, Key: hex.EncodeToString(r.Key), Row: w.rowText(r), Text: fmt.Sprintf(format, args...),
		})
	}
	r.list[i].Count++
	if w.fix[k] && !w.o.Mends {
		r.list[i].Left = "trees are mended while no adapter has the store open"
	}
	return w.fix[k] && w.o.Mends
}

// rowText names the row for people.
func (w *check) rowText(r *checkedRow) string {
	text := fmt.Sprintf("tree %d", r.tree)
	if r.branch != nil && len(r.branch.Path) > 1 {
		text += " " + strings.Join(r.branch.Path[1:], ".")
	}
	return text
}

// ours begins the rows of tsdb-tree that are of no tree, but of tsdbridge itself.
var ours = []byte("\x00\x00tsdbridge.")

// check checks rows and mends them.
func (w *check) check(ctx context.Context, page []kv.Row) (found []fsck.Finding, err error) {
	rows := make([]*checkedRow, 0, len(page))
	for _, row := range page {
		if bytes.HasPrefix(row.Key, ours) {
			continue
		}
		r := &checkedRow{Row: row}
		if err := w.row(ctx, r); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	if err := w.series(ctx, rows); err != nil {
		return nil, err
	}
	if err := w.mend(ctx, rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		found = append(found, r.list...)
	}
	return found, nil
}

// row checks a row by itself, and against its parent.
func (w *check) row(ctx context.Context, r *checkedRow) error {
	if len(r.Key) >= 2 {
		r.tree = binary.BigEndian.Uint16(r.Key)
	}
	key, isBranch := schema.ParseBranchRow(r.Key)
	failures := len(r.Key) == 3 && (bytes.Equal(r.Key, schema.CollisionRow(r.tree)) || bytes.Equal(r.Key, schema.NotMatchedRow(r.tree)))
	switch {
	case !isBranch && !failures || r.tree == 0:
		w.add(r, fsck.BadTreeRow, "%d bytes are no row key", len(r.Key))
		return nil
	case w.trees[r.tree] == nil && w.broken[r.tree] == nil:
		r.gone = w.add(r, fsck.NoTree, "tree %d has no definition", r.tree)
		return nil
	case failures:
		w.failures(r)
		return nil
	case len(key.Hashes) == 0 && w.broken[r.tree] != nil:
		w.add(r, fsck.BadDefinition, "%v", w.broken[r.tree])
	}
	w.branchRow(r, key)
	if len(key.Hashes) == 0 {
		return nil
	}
	return w.ancestors(ctx, r)
}

// branchRow reads the branch and the leaves of a row.
func (w *check) branchRow(r *checkedRow, key schema.BranchKey) {
	var bad error
	for _, c := range r.Cells {
		if string(c.Qualifier) != string(schema.BranchQualifier()) {
			continue
		}
		b, err := schema.ParseBranch(c.Value)
		if bad = err; err == nil {
			r.branch = &b
			if !bytes.Equal(schema.BranchRow(r.tree, b.Path[min(1, len(b.Path)):]...), r.Key) {
				bad = fmt.Errorf("its path is %.200q", b.Path)
			}
		}
	}
	for _, c := range r.Cells {
		hash, isLeaf := schema.ParseLeafQualifier(c.Qualifier)
		if !isLeaf {
			if hash, isLeaf = parseAlso(c.Qualifier); !isLeaf {
				continue
			}
		}
		leaf, err := schema.ParseLeaf(c.Value)
		if err == nil && schema.NameHash(leaf.DisplayName) != hash {
			err = fmt.Errorf("its name is %.100q", leaf.DisplayName)
		}
		if err != nil {
			w.remove(r, c, fsck.BadLeaf, "leaf %x: %v", c.Qualifier, err)
			continue
		}
		r.leaves = append(r.leaves, checkedLeaf{cell: c, tsuid: leaf.TSUID, hash: hash})
	}
	switch {
	case bad != nil:
		w.add(r, fsck.BadBranch, "%v", bad)
		r.branch = nil
	case r.branch == nil && len(key.Hashes) > 0:
		w.add(r, fsck.NoBranch, "it has %d leaves", len(r.leaves))
	}
}

// remove adds a finding whose mend deletes a cell.
func (w *check) remove(r *checkedRow, c kv.Cell, k fsck.Kind, format string, args ...any) {
	if w.add(r, k, format, args...) {
		r.deletes = kv.DeletesOf(r.deletes, []kv.Cell{c})
	}
}

// ancestors looks whether the branches above a row are there. Rows come in the order of their keys, so
// a branch comes before those below it.
func (w *check) ancestors(ctx context.Context, r *checkedRow) error {
	above := r.Key[:len(r.Key)-schema.ChildWidth]
	if r.branch != nil {
		defer func() { w.parent = r.Key }()
	}
	if bytes.HasPrefix(w.parent, above) {
		return nil
	}
	row, err := w.forest.cell(ctx, above, schema.BranchQualifier())
	if err != nil || row != nil {
		return err
	}
	if w.add(r, fsck.OrphanBranch, "its parent %x has no branch", above) && r.branch != nil {
		for depth := schema.Depth(above); depth >= 0; depth-- { // those that are there stay
			names := r.branch.Path[1 : 1+depth]
			put := kv.Put{Qualifier: schema.BranchQualifier(), Value: schema.NewBranch(names...).AppendTo(nil)}
			r.parents = append(r.parents, kv.Mutation{Key: schema.BranchRow(r.tree, names...), Puts: []kv.Put{put}})
		}
	}
	return nil
}

// failures reads the series in a row of collisions or refusals.
func (w *check) failures(r *checkedRow) {
	for _, c := range r.Cells {
		if tsuid, ok := schema.ParseFailureQualifier(c.Qualifier); ok {
			r.leaves = append(r.leaves, checkedLeaf{cell: c, tsuid: tsuid, failure: true})
			continue
		}
		if tsuid, ok := bytes.CutPrefix(c.Qualifier, []byte(collidedPrefix)); ok {
			b, err := schema.ParseBranch(c.Value)
			if err != nil || len(b.Path) < 2 || len(tsuid) == 0 {
				w.remove(r, c, fsck.BadLeaf, "collided leaf %x: its path is %.200q (%v)", c.Qualifier, b.Path, err)
				continue
			}
			r.leaves = append(r.leaves, checkedLeaf{cell: c, tsuid: tsuid, names: b.Path[1:]})
		}
	}
}

// series checks the leaves of rows against their series.
func (w *check) series(ctx context.Context, rows []*checkedRow) error {
	at := map[string]int{}
	var tsuids [][]byte
	for _, r := range rows {
		for _, l := range r.leaves {
			if _, ok := at[string(l.tsuid)]; !ok {
				at[string(l.tsuid)] = len(tsuids)
				tsuids = append(tsuids, l.tsuid)
			}
		}
	}
	if len(tsuids) == 0 {
		return nil
	}
	named, err := w.o.Catalog.NameSeries(ctx, tsuids)
	if err != nil {
		return err
	}
	registered, err := w.db.Get(ctx, w.o.MetaTable, schema.FamilyMeta, tsuids)
	if err != nil {
		return err
	}
	names := make(map[string]storage.Series, len(named))
	list := make([]storage.Series, len(named))
	for i, n := range named {
		names[string(n.TSUID)], list[i] = n.Series, n.Series
	}
	custom, err := readCustoms(ctx, w.db, w.o.UIDTable, w.forest.Trees(), list)
	if err != nil {
		return err
	}
	for _, r := range rows {
		for i := range r.leaves {
			l := &r.leaves[i]
			if series, ok := names[string(l.tsuid)]; !ok {
				w.unknown(r, l)
			} else if !l.failure {
				w.leaf(r, l, series, custom, len(registered[at[string(l.tsuid)]].Cells) > 0)
			}
		}
	}
	return nil
}

// unknown adds the finding of a leaf whose series has no names.
func (w *check) unknown(r *checkedRow, l *checkedLeaf) {
	if l.failure {
		w.remove(r, l.cell, fsck.UnknownFailure, "series %X", l.tsuid)
		return
	}
	w.removeLeaf(r, l, fsck.UnknownLeaf, "series %X", l.tsuid)
}

// leaf checks a leaf whose series has names.
func (w *check) leaf(r *checkedRow, l *checkedLeaf, series storage.Series, custom *customs, registered bool) {
	if !registered {
		w.add(r, fsck.LostLeaf, "series %X, %s", l.tsuid, series)
	}
	t := w.trees[r.tree]
	if t == nil {
		return
	}
	var route tree.Route
	switch {
	case t.plain && w.forest.isPlain(series):
		route = tree.PlainRoute(series.Metric)
	case !t.HasRules():
		return
	default:
		route = t.Route(tree.Subject{TSUID: l.tsuid, Series: series, Custom: custom.of, Rest: w.o.Rest})
	}
	if !isAt(r, l, route) {
		w.removeLeaf(r, l, fsck.MisplacedLeaf, "series %X, %s: by the rules: %s %s", l.tsuid, series, route.Outcome, route.Path(asStored))
	}
}

// isAt reports whether a leaf is where a route ends.
func isAt(r *checkedRow, l *checkedLeaf, route tree.Route) bool {
	if route.Outcome != tree.Stored && route.Outcome != tree.OnRoot {
		return false
	}
	if l.names != nil {
		return slices.Equal(l.names, append(slices.Clone(route.Branches), route.Leaf))
	}
	return l.hash == schema.NameHash(route.Leaf) && bytes.Equal(r.Key, schema.BranchRow(r.tree, route.Branches...))
}

// removeLeaf is remove for a leaf, which stays if other series share it.
func (w *check) removeLeaf(r *checkedRow, l *checkedLeaf, k fsck.Kind, format string, args ...any) {
	if !w.add(r, k, format, args...) {
		return
	}
	if _, isLeaf := schema.ParseLeafQualifier(l.cell.Qualifier); isLeaf {
		shared := slices.ContainsFunc(r.leaves, func(o checkedLeaf) bool { return o.hash == l.hash && !bytes.Equal(o.cell.Qualifier, l.cell.Qualifier) })
		if shared {
			i := slices.IndexFunc(r.list, func(f fsck.Finding) bool { return f.Kind == k })
			r.list[i].Left = "other series share the leaf"
			return
		}
	}
	r.deletes = kv.DeletesOf(r.deletes, []kv.Cell{l.cell})
}

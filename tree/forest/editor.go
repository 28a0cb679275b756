package forest

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/javaregexp"
)

// An Editor shows and changes the trees of a running process, as the API of a TSD does. It reads the
// table. When a change returns, it is durable and holds for the series that are new from then on. Existing series are
// appended in the background where the rules changed (see Follower). A tree that the configuration
// declares can be cleared, but not changed: the next start would change it back.
//
// Errors are storage.ErrInvalid for what no tree can be, ErrNoTree and ErrDeclared.
type Editor struct {
	service     *Service
	definitions *Definitions
}

// ErrDeclared means that a tree is declared, and must be changed where it is.
var ErrDeclared = errors.New("the tree is declared in the configuration of this process; change it there")

// The bounds of what clients may store. YAML and TSDs are not bound.
const (
	mostTrees       = 1000
	mostRules       = 1000
	highestLevel    = 9999 // a TSD counts up to the highest level for each series
	longestDocument = 64 << 10
)

// LongestPattern is how long a regular expression, a separator or a displayFormat of a client may be,
// in bytes: what they cost grows faster than they do.
const LongestPattern = 1024

// largestRegex is how large a regular expression of a client may be, as javaregexp.Size counts: all rules
// are in memory.
const largestRegex = 4096

// Editor returns the editor of the trees.
func (s *Service) Editor() *Editor {
	return &Editor{service: s, definitions: NewDefinitions(s.db, s.o.Forest.TreeTable)}
}

// All returns all trees by id, those that cannot be used too.
func (e *Editor) All(ctx context.Context) ([]tree.Definition, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	return e.definitions.All(ctx)
}

// Get returns a tree, whether it can be used or not.
func (e *Editor) Get(ctx context.Context, id uint16) (tree.Definition, error) {
	if err := e.ready(); err != nil {
		return tree.Definition{}, err
	}
	return e.definitions.Get(ctx, id)
}

// ready returns an error until the declared trees are in the table.
func (e *Editor) ready() error {
	select {
	case <-e.service.prepared:
		return nil
	default:
		return fmt.Errorf("%w: trees: %w", storage.ErrNotReady, e.service.Ready())
	}
}

// declared returns ErrDeclared if a name is of a tree that the configuration declares.
func (e *Editor) declared(name string) error {
	if where, ok := e.service.o.Sources[name]; ok {
		return fmt.Errorf("tree %q is of %s: %w", name, where, ErrDeclared)
	}
	return nil
}

// editable returns a tree that may be changed.
func (e *Editor) editable(ctx context.Context, id uint16) (tree.Definition, error) {
	have, err := e.Get(ctx, id)
	if err != nil {
		return have, err
	}
	return have, e.declared(have.Name)
}

// Create stores a new tree under the next free id.
func (e *Editor) Create(ctx context.Context, t schema.Tree) (id uint16, err error) {
	if err := e.ready(); err != nil {
		return 0, err
	}
	if err := e.nameable(t); err != nil {
		return 0, err
	}
	if all, err := e.definitions.All(ctx); err != nil || len(all) >= mostTrees {
		return 0, errors.Join(err, fmt.Errorf("%w: there are %d trees, and at most %d can be made", storage.ErrLimit, len(all), mostTrees))
	}
	if id, err = e.definitions.Create(ctx, t); err != nil {
		return 0, err
	}
	return id, e.service.forest.LoadTrees(ctx)
}

// nameable refuses a definition that clients may not store.
func (e *Editor) nameable(t schema.Tree) error {
	if n := len(t.AppendTo(nil)); n > longestDocument {
		return fmt.Errorf("%w: the definition of a tree has at most %d bytes, this one %d", storage.ErrInvalid, longestDocument, n)
	}
	return e.declared(t.Name)
}

// Edit changes the definition of a tree.
func (e *Editor) Edit(ctx context.Context, id uint16, change func(*schema.Tree)) error {
	have, err := e.editable(ctx, id)
	if err != nil {
		return err
	}
	change(&have.Tree)
	if err := e.nameable(have.Tree); err != nil {
		return err
	}
	if err := e.definitions.Edit(ctx, id, change); err != nil {
		return err
	}
	return e.service.forest.LoadTrees(ctx)
}

// A RuleEdit makes a rule of the one that is at its level and order; there is false without one.
type RuleEdit struct {
	Level, Order int
	Change       func(have schema.TreeRule, there bool) (schema.TreeRule, error)
}

// EditRules changes rules one after the other. All are checked before the first is written.
func (e *Editor) EditRules(ctx context.Context, id uint16, edits []RuleEdit) error {
	have, err := e.editable(ctx, id)
	if err != nil {
		return err
	}
	edited, rules, err := editedRules(have, edits)
	if err != nil {
		return err
	}
	if err := checkRules(id, edited, rules); err != nil {
		return err
	}
	for _, edit := range edits {
		if err := e.definitions.EditRule(ctx, id, edit.Level, edit.Order, edit.Change); err != nil {
			return err
		}
	}
	return e.service.forest.LoadTrees(ctx)
}

// editedRules returns the rules that edits make, and how many the tree then has.
func editedRules(have tree.Definition, edits []RuleEdit) (edited []schema.TreeRule, rules int, err error) {
	now := make(map[[2]int]schema.TreeRule, len(have.Rules))
	for _, r := range have.Rules {
		now[[2]int{r.Level, r.Order}] = r
	}
	for _, edit := range edits {
		place := [2]int{edit.Level, edit.Order}
		was := now[place]
		r, err := edit.Change(was, was.Type != "")
		if err != nil {
			return nil, 0, err
		}
		r.Level, r.Order = edit.Level, edit.Order
		now[place] = r
		edited = append(edited, r)
	}
	return edited, len(now), nil
}

// checkRules refuses rules that clients may not store. The tree then has so many in all.
func checkRules(id uint16, rules []schema.TreeRule, all int) error {
	if all > mostRules {
		return fmt.Errorf("%w: a tree has at most %d rules, this one %d", storage.ErrInvalid, mostRules, all)
	}
	for _, r := range rules {
		if err := checkBounds(r); err != nil {
			return fmt.Errorf("%w: tree %d: rule %d:%d: %w", storage.ErrInvalid, id, r.Level, r.Order, err)
		}
		if err := checkRule(id, r); err != nil {
			return err
		}
	}
	return nil
}

func checkBounds(r schema.TreeRule) error {
	switch {
	case r.Level > highestLevel || r.Order > highestLevel:
		return fmt.Errorf("level and order are at most %d", highestLevel)
	case max(len(r.DisplayFormat), len(r.Regex), len(r.Separator)) > LongestPattern:
		return fmt.Errorf("displayFormat, regex and separator have at most %d bytes each", LongestPattern)
	case regexSize(r.Regex) > largestRegex || regexSize(r.Separator) > largestRegex:
		return fmt.Errorf("regex and separator have at most %d parts each, repetitions counted", largestRegex)
	case len(r.AppendTo(nil)) > longestDocument:
		return fmt.Errorf("it has at most %d bytes", longestDocument)
	}
	return nil
}

// regexSize is what a regular expression compiles to; 0 for one that checkRule refuses.
func regexSize(pattern string) int {
	size, err := javaregexp.Size(pattern)
	if err != nil {
		return 0
	}
	return size
}

// ReplaceRules stores rules in place of all that a tree has.
func (e *Editor) ReplaceRules(ctx context.Context, id uint16, rules []schema.TreeRule) error {
	if _, err := e.editable(ctx, id); err != nil {
		return err
	}
	if err := checkRules(id, rules, len(rules)); err != nil {
		return err
	}
	if err := e.definitions.ReplaceRules(ctx, id, rules); err != nil {
		return err
	}
	return e.service.forest.LoadTrees(ctx)
}

// DeleteRule deletes a rule.
func (e *Editor) DeleteRule(ctx context.Context, id uint16, level, order int) error {
	if _, err := e.editable(ctx, id); err != nil {
		return err
	}
	if err := e.definitions.DeleteRule(ctx, id, level, order); err != nil {
		return err
	}
	return e.service.forest.LoadTrees(ctx)
}

// Clear deletes the branches and leaves of a tree, see Forest.Clear.
func (e *Editor) Clear(ctx context.Context, id uint16) error {
	if _, err := e.Get(ctx, id); err != nil {
		return err
	}
	release, err := e.service.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	return e.service.forest.Clear(ctx, id)
}

// Remove deletes a tree and what it has, see Forest.Remove.
func (e *Editor) Remove(ctx context.Context, id uint16) error {
	release, err := e.service.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, err := e.editable(ctx, id); err != nil {
		return err
	}
	return e.service.forest.Remove(ctx, id)
}

// alone lets one caller clear or remove a tree at a time.
func (s *Service) alone(ctx context.Context) (release func(), err error) {
	select {
	case s.clearing <- struct{}{}:
		return func() { <-s.clearing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Failures returns the series in a tree's row of collisions, each with the series that has its leaf,
// or in that of the series without a match, each with the rules; of all series, or of those that are
// asked for. TSUIDs are in hexadecimal. More than a number is storage.ErrLimit.
func (e *Editor) Failures(ctx context.Context, id uint16, collisions bool, tsuids [][]byte, most int) (map[string]string, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	if len(tsuids) > 0 {
		return e.failuresOf(ctx, id, collisions, tsuids)
	}
	row, _ := failureCell(id, collisions, nil)
	rows, err := e.service.db.Get(ctx, e.service.o.Forest.TreeTable, schema.FamilyData, [][]byte{row})
	if err != nil {
		return nil, fmt.Errorf("read the failures of tree %d: %w", id, err)
	}
	found := map[string]string{}
	for _, c := range rows[0].Cells {
		if tsuid, ok := schema.ParseFailureQualifier(c.Qualifier); ok {
			found[schema.FormatTSUID(tsuid)] = string(c.Value)
		}
	}
	if len(found) > most {
		return nil, fmt.Errorf("%w: tree %d has %d of these series, which is more than %d: ask for some of them", storage.ErrLimit, id, len(found), most)
	}
	return found, nil
}

// failureCell returns where a series without a place in a tree is.
func failureCell(id uint16, collisions bool, tsuid []byte) (row, qualifier []byte) {
	if collisions {
		return schema.CollisionRow(id), schema.CollisionQualifier(tsuid)
	}
	return schema.NotMatchedRow(id), schema.NotMatchedQualifier(tsuid)
}

func (e *Editor) failuresOf(ctx context.Context, id uint16, collisions bool, tsuids [][]byte) (map[string]string, error) {
	found := map[string]string{}
	for _, tsuid := range tsuids {
		row, qualifier := failureCell(id, collisions, tsuid)
		cell, err := e.service.forest.cell(ctx, row, qualifier)
		if err != nil {
			return nil, fmt.Errorf("read a failure of tree %d: %w", id, err)
		}
		if cell != nil {
			found[schema.FormatTSUID(tsuid)] = string(cell.Value)
		}
	}
	return found, nil
}

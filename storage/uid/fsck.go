package uid

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// inProgress is how old what looks unfinished must be: a younger one may be an assignment, or a rename,
// that is under way.
const inProgress = 10 * time.Minute

const (
	checkBatch = 1024
	// mostSuspects bounds the UIDs of which Used is asked.
	mostSuspects = 1_000_000
)

// Check compares the rows of tsdb-uid with each other: forward rows with reverse rows and the other way
// round, lengths, and the counters with the greatest UID. It reads the table twice, and its memory does
// not grow with it. What disagrees is read again before it counts, so that others may assign and rename
// meanwhile. Each mend is made only while the rows are as they were read, and none loses a name of a
// series:
//
//   - A forward row without a reverse row gets one, and a reverse row without a forward row gets one.
//   - Of two names of one UID the one in the reverse row stays. (So ends a rename that was interrupted.)
//   - A reverse row of another name than its one forward row gets that name.
//   - Of two UIDs of one name the one of the forward row stays, if no series has the other one.
//   - A counter that is too small is counted up; one that is not of 8 bytes is written anew.
func (d *Dictionary) Check(ctx context.Context, o storage.UIDCheck) (storage.UIDReport, error) {
	c := &checking{Dictionary: d, o: o}
	if err := c.forwards(ctx); err != nil {
		return c.report, err
	}
	if err := c.reverses(ctx); err != nil {
		return c.report, err
	}
	if err := c.unused(ctx); err != nil {
		return c.report, err
	}
	if err := c.counters(ctx); err != nil || c.report.Mended == 0 {
		return c.report, err
	}
	return c.report, c.flush(ctx)
}

// checking is one call of Check.
type checking struct {
	*Dictionary
	o        storage.UIDCheck
	report   storage.UIDReport
	greatest [3]int64 // by kind
	entries  [2][3]int
	suspects []storage.Mapping
}

func (c *checking) errorf(format string, args ...any) {
	c.report.Errors++
	c.o.Print("ERROR " + fmt.Sprintf(format, args...))
}

func (c *checking) warnf(format string, args ...any) {
	c.report.Warnings++
	c.o.Print("WARN " + fmt.Sprintf(format, args...))
}

func (c *checking) fixed(format string, args ...any) {
	c.report.Mended++
	c.o.Print("FIX: " + fmt.Sprintf(format, args...))
}

// forwards goes over the names.
func (c *checking) forwards(ctx context.Context) error {
	return c.rows(ctx, schema.FamilyID, c.forward, func(m storage.Mapping) kv.Column {
		return c.column(schema.FamilyName, m.UID, m.Kind)
	}, func(m storage.Mapping, reverse []byte) bool { return schema.DecodeName(reverse) == m.Name }, c.checkForward)
}

// reverses goes over the UIDs.
func (c *checking) reverses(ctx context.Context) error {
	return c.rows(ctx, schema.FamilyName, c.reverse, func(m storage.Mapping) kv.Column {
		key, _ := schema.EncodeName(m.Name) // it was decoded of one
		return c.column(schema.FamilyID, key, m.Kind)
	}, func(m storage.Mapping, forward []byte) bool { return bytes.Equal(forward, m.UID) }, c.checkReverse)
}

// rows goes over the rows of a family. parse makes mappings of cells; those whose opposite cell does not
// agree are checked one by one.
func (c *checking) rows(
	ctx context.Context, family string, parse func(kind storage.NameKind, key []byte, cell kv.Cell) (storage.Mapping, bool),
	opposite func(storage.Mapping) kv.Column, agrees func(storage.Mapping, []byte) bool, check func(context.Context, storage.Mapping) error,
) error {
	var batch []storage.Mapping
	flush := func() error {
		for _, kind := range storage.NameKinds() {
			if err := c.compare(ctx, kind, batch, opposite, agrees, check); err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	for row, err := range c.db.Scan(ctx, kv.Scan{Table: c.table, Family: family}) {
		if err != nil {
			return fmt.Errorf("read table %s: %w", c.table, err)
		}
		for _, cell := range row.Cells {
			c.report.Cells++
			kind, ok, err := c.kindOf(ctx, family, row.Key, cell)
			if err != nil {
				return err
			}
			if !ok || family == schema.FamilyID && bytes.Equal(row.Key, schema.MaxIDRow()) {
				continue
			}
			if m, ok := parse(kind, row.Key, cell); ok {
				batch = append(batch, m)
			}
		}
		if len(batch) >= checkBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// ours is the prefix of columns that tsdbridge has in row 0 and elsewhere.
const ours = "tsdbridge."

// kindOf returns the kind that a column is of. ok is false for columns of other things; unknown ones are
// reported.
func (c *checking) kindOf(ctx context.Context, family string, key []byte, cell kv.Cell) (kind storage.NameKind, ok bool, err error) {
	known := strings.HasPrefix(string(cell.Qualifier), ours) || string(cell.Qualifier) == string(schema.MetaQualifier()) || string(cell.Qualifier) == string(schema.CounterQualifier())
	for _, kind := range storage.NameKinds() {
		if bytes.Equal(cell.Qualifier, schema.UIDQualifier(kind)) {
			return kind, true, nil
		}
		known = known || bytes.Equal(cell.Qualifier, schema.UIDMetaQualifier(kind))
	}
	if known {
		return 0, false, nil
	}
	c.warnf("Unknown qualifier %X in row %X", cell.Qualifier, key)
	if !c.o.Fix || !c.o.DeleteUnknown {
		return 0, false, nil
	}
	gone := kv.Mutation{Key: key, Deletes: []kv.Delete{{Qualifier: cell.Qualifier, Time: cell.Time}}}
	if err := c.db.Apply(ctx, c.table, family, []kv.Mutation{gone}); err != nil {
		return 0, false, fmt.Errorf("delete an unknown column: %w", err)
	}
	c.fixed("Removed unknown qualifier %X in row %X", cell.Qualifier, key)
	return 0, false, nil
}

// forward reads a forward row.
func (c *checking) forward(kind storage.NameKind, key []byte, cell kv.Cell) (storage.Mapping, bool) {
	m := storage.Mapping{Kind: kind, Name: schema.DecodeName(key), UID: cell.Value}
	c.entries[0][kind]++
	return m, c.measured(m)
}

// reverse reads a reverse row.
func (c *checking) reverse(kind storage.NameKind, key []byte, cell kv.Cell) (storage.Mapping, bool) {
	m := storage.Mapping{Kind: kind, Name: schema.DecodeName(cell.Value), UID: key}
	c.entries[1][kind]++
	if m.Name == "" {
		c.errorf("%s ID %X has an empty name", kind.Plural(), key)
		return m, false
	}
	return m, c.measured(m)
}

// measured checks the length of a UID, and notes the greatest one.
func (c *checking) measured(m storage.Mapping) bool {
	if width := c.layout.Width(m.Kind); len(m.UID) != width {
		c.errorf("Invalid %s ID of length %d (expected: %d): %s -> %X", m.Kind.Plural(), len(m.UID), width, m.Name, m.UID)
		return false
	}
	id := int64(numberOf(string(m.UID)))
	if id == 0 {
		c.errorf("%s %q has the ID 0, which no name has", m.Kind.Plural(), m.Name)
		return false
	}
	c.greatest[m.Kind] = max(c.greatest[m.Kind], id)
	return true
}

// compare reads the opposite cells of the mappings of a kind, and checks those that do not agree.
func (c *checking) compare(
	ctx context.Context, kind storage.NameKind, all []storage.Mapping,
	opposite func(storage.Mapping) kv.Column, agrees func(storage.Mapping, []byte) bool, check func(context.Context, storage.Mapping) error,
) error {
	var of []storage.Mapping
	var keys [][]byte
	at := map[string]int{}
	family := ""
	for _, m := range all {
		if m.Kind != kind {
			continue
		}
		column := opposite(m)
		family = column.Family
		of = append(of, m)
		if _, twice := at[string(column.Row)]; !twice {
			at[string(column.Row)] = len(keys)
			keys = append(keys, column.Row)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := c.db.Get(ctx, c.table, family, keys)
	if err != nil {
		return fmt.Errorf("read %d rows of %s: %w", len(keys), c.table, err)
	}
	for _, m := range of {
		value := cell(rows[at[string(opposite(m).Row)]], schema.UIDQualifier(kind))
		if value != nil && agrees(m, value) {
			continue
		}
		if err := check(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// checkForward checks a forward row whose reverse row did not agree.
func (c *checking) checkForward(ctx context.Context, m storage.Mapping) error {
	release, err := enter(ctx, c.assigning[m.Kind])
	if err != nil {
		return err
	}
	defer release()
	key, err := schema.EncodeName(m.Name)
	if err != nil {
		c.errorf("%s %q: %v", m.Kind.Plural(), m.Name, err)
		return nil
	}
	forward, ok, err := c.cell(ctx, c.column(schema.FamilyID, key, m.Kind))
	if err != nil || !ok || !bytes.Equal(forward.Value, m.UID) {
		return err // it has changed
	}
	named, err := c.named(ctx, m.Kind, m.UID)
	switch {
	case err != nil || bytes.Equal(named, key):
		return err
	case named == nil:
		c.errorf("Forward %s mapping is missing reverse mapping: %s -> %X", m.Kind.Plural(), m.Name, m.UID)
		return c.restoreReverse(ctx, m, nil, key)
	}
	found := schema.DecodeName(named)
	c.errorf("Forward %s mapping %s -> %X is different than reverse mapping: %X -> %s", m.Kind.Plural(), m.Name, m.UID, m.UID, found)
	other, err := c.value(ctx, c.column(schema.FamilyID, named, m.Kind))
	if err != nil || !c.o.Fix {
		return err
	}
	if c.young(forward.Time) { // a rename may be under way
		c.o.Print("not mended: " + m.Name + " was written a moment ago; run it again in ten minutes")
		return nil
	}
	if !bytes.Equal(other, m.UID) {
		return c.restoreReverse(ctx, m, named, key)
	}
	if err := c.deleteCell(ctx, c.column(schema.FamilyID, key, m.Kind), m.UID); err != nil {
		return fmt.Errorf("delete the %s UID of %q: %w", m.Kind, m.Name, err)
	}
	c.caches[m.Kind].forget(string(m.UID), m.Name, found)
	c.fixed("Removed forward %s mapping for %s -> %X, which stays that of %s", m.Kind.Plural(), m.Name, m.UID, found)
	return nil
}

// young reports whether a cell was written a moment ago.
func (c *checking) young(time int64) bool {
	return time > c.o.Now().Add(-inProgress).UnixMilli()
}

// restoreReverse writes the reverse row of a mapping if it holds what was read.
func (c *checking) restoreReverse(ctx context.Context, m storage.Mapping, held, name []byte) error {
	if !c.o.Fix {
		return nil
	}
	now, err := c.putIf(ctx, c.column(schema.FamilyName, m.UID, m.Kind), held, name)
	if err != nil {
		return fmt.Errorf("write the name of %s UID %X: %w", m.Kind, m.UID, err)
	}
	c.caches[m.Kind].forget(string(m.UID), m.Name, schema.DecodeName(held))
	if bytes.Equal(now, name) {
		c.fixed("Restoring %s reverse mapping: %X -> %s", m.Kind.Plural(), m.UID, m.Name)
	}
	return nil
}

// checkReverse checks a reverse row whose forward row did not agree.
func (c *checking) checkReverse(ctx context.Context, m storage.Mapping) error {
	release, err := enter(ctx, c.assigning[m.Kind])
	if err != nil {
		return err
	}
	defer release()
	reverse, ok, err := c.cell(ctx, c.column(schema.FamilyName, m.UID, m.Kind))
	if err != nil || !ok || schema.DecodeName(reverse.Value) != m.Name || c.young(reverse.Time) {
		return err // it has changed, or an assignment is under way
	}
	column := c.column(schema.FamilyID, reverse.Value, m.Kind)
	forward, err := c.value(ctx, column)
	switch {
	case err != nil || bytes.Equal(forward, m.UID):
		return err
	case forward != nil:
		return c.twice(ctx, m, forward)
	}
	c.warnf("Reverse %s mapping is missing forward mapping: %s -> %X", m.Kind.Plural(), m.Name, m.UID)
	if !c.o.Fix {
		return nil
	}
	held, err := c.putIfAbsent(ctx, column, m.UID)
	if err != nil {
		return fmt.Errorf("write the %s UID of %q: %w", m.Kind, m.Name, err)
	}
	c.caches[m.Kind].forget(string(m.UID), m.Name)
	if bytes.Equal(held, m.UID) {
		c.fixed("Restoring %s forward mapping: %s -> %X", m.Kind.Plural(), m.Name, m.UID)
	}
	return nil
}

// twice is a name of two UIDs. forward is the one of its forward row.
func (c *checking) twice(ctx context.Context, m storage.Mapping, forward []byte) error {
	c.errorf("Inconsistent reverse %s mapping %X -> %s vs %s -> %X", m.Kind.Plural(), m.UID, m.Name, m.Name, forward)
	named, err := c.named(ctx, m.Kind, forward)
	if err != nil || schema.DecodeName(named) != m.Name {
		return err // the forward row is wrong
	}
	if len(c.suspects) < mostSuspects {
		c.suspects = append(c.suspects, storage.Mapping{Kind: m.Kind, Name: m.Name, UID: slices.Clone(m.UID)})
	}
	return nil
}

// unused deletes the reverse rows of UIDs that share their names with others and that no series has.
func (c *checking) unused(ctx context.Context) error {
	if len(c.suspects) == 0 || !c.o.Fix {
		return nil
	}
	used, err := c.o.Used(ctx, c.suspects)
	if err != nil {
		return err
	}
	for _, m := range c.suspects {
		if used[m.Key()] {
			c.o.Print(fmt.Sprintf("not mended: series have the %s ID %X, and show the name %s", m.Kind.Plural(), m.UID, m.Name))
			continue
		}
		key, err := schema.EncodeName(m.Name)
		if err != nil {
			continue // it was read of the table
		}
		if err := c.deleteReverse(ctx, m.Kind, m.UID, key); err != nil {
			return fmt.Errorf("delete the name of %s UID %X: %w", m.Kind, m.UID, err)
		}
		c.caches[m.Kind].forget(string(m.UID), m.Name)
		c.fixed("Removed %s reverse mapping: %X -> %s", m.Kind.Plural(), m.UID, m.Name)
	}
	return nil
}

// counters compares the counters with the greatest UIDs.
func (c *checking) counters(ctx context.Context) error {
	for _, kind := range storage.NameKinds() {
		if err := c.counter(ctx, kind); err != nil {
			return fmt.Errorf("counter of %s UIDs in table %s: %w", kind, c.table, err)
		}
	}
	return nil
}

func (c *checking) counter(ctx context.Context, kind storage.NameKind) error {
	release, err := enter(ctx, c.assigning[kind])
	if err != nil {
		return err
	}
	defer release()
	column := c.column(schema.FamilyID, schema.MaxIDRow(), kind)
	raw, err := c.value(ctx, column)
	if err != nil {
		return err
	}
	drawn := int64(0)
	if raw != nil {
		if drawn, err = schema.DecodeCounter(raw); err != nil {
			c.errorf("Invalid maximum ID for %s: should be on 8 bytes: %X", kind.Plural(), raw)
			return c.rewriteCounter(ctx, kind, column, raw)
		}
	}
	greatest, entries := c.greatest[kind], int64(max(c.entries[0][kind], c.entries[1][kind]))
	switch {
	case drawn < greatest:
		c.errorf("We found an ID of %d for %s but the max ID is only %d!  Future IDs may be double-assigned!", greatest, kind.Plural(), drawn)
		if !c.o.Fix {
			return nil
		}
		// Others count up too: then it is a little too great, which wastes some.
		now, err := c.db.Increment(ctx, column, greatest-drawn)
		if err != nil {
			return err
		}
		c.drawn(kind, now)
		c.fixed("Updated max ID for %s to %d", kind.Plural(), now)
	case drawn > entries:
		c.warnf("Max ID for %s is %d but only %d entries were found.  Maybe %d IDs were deleted?", kind.Plural(), drawn, entries, drawn-entries)
	}
	return nil
}

func (c *checking) rewriteCounter(ctx context.Context, kind storage.NameKind, column kv.Column, raw []byte) error {
	if !c.o.Fix {
		return nil
	}
	value := schema.EncodeCounter(c.greatest[kind])
	held, err := c.putIf(ctx, column, raw, value)
	if err != nil {
		return err
	}
	if bytes.Equal(held, value) {
		c.fixed("Wrote the max ID for %s anew: %d", kind.Plural(), c.greatest[kind])
	}
	return nil
}

// flush makes durable what was counted, checked and put.
func (c *checking) flush(ctx context.Context) error {
	return c.db.Apply(ctx, c.table, schema.FamilyID, []kv.Mutation{{Key: schema.MaxIDRow(), Deletes: []kv.Delete{{Qualifier: []byte(noColumn)}}}})
}

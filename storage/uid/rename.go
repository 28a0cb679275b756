package uid

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Rename gives the UID of a name another name. The steps on the table are those of OpenTSDB
// (UniqueId.rename): the reverse row gets the new name, the new name its forward row, and the old
// name loses its forward row. Each is made only while the table is as it was read.
//
// Begin makes the first two steps, Finish the last one. In between both names have the UID, which
// has the new name. After a crash, or an error, the rename is made again: it finishes what it finds.
type Rename struct {
	Kind     storage.NameKind
	UID      string
	From, To string

	d       *Dictionary
	from    []byte // as keys
	to      []byte
	release func()
}

// BeginRename makes the first steps of a rename. No other rename of the kind begins in this process
// until End. A NoNameError, a TakenError, an ErrName or an ErrRenaming says why there is none.
func (d *Dictionary) BeginRename(ctx context.Context, kind storage.NameKind, from, to string) (*Rename, error) {
	r := &Rename{Kind: kind, From: from, To: to, d: d}
	for _, name := range []struct {
		text string
		key  *[]byte
	}{{from, &r.from}, {to, &r.to}} {
		var err error
		if *name.key, err = schema.EncodeName(name.text); err != nil {
			return nil, fmt.Errorf("%w: %w", storage.ErrName, err)
		}
	}
	release, err := enter(ctx, d.renaming[kind])
	if err != nil {
		return nil, err
	}
	r.release = release
	if err := r.begin(ctx); err != nil {
		release()
		return nil, err
	}
	return r, nil
}

// End lets other renames begin.
func (r *Rename) End() { r.release() }

func (r *Rename) begin(ctx context.Context) error {
	release, err := enter(ctx, r.d.assigning[r.Kind])
	if err != nil {
		return err
	}
	defer release() // nobody gives the new name another UID before it has this one
	if err := r.d.before(ctx, r.Kind, 0); err != nil {
		return err
	}
	uid, taken, err := r.look(ctx)
	if err != nil {
		return err
	}
	r.UID = string(uid)
	named, err := r.d.named(ctx, r.Kind, uid)
	switch {
	case err != nil:
		return err
	case taken != nil:
		return errors.Join(r.giveBack(ctx, named, taken), r.taken(taken))
	case named != nil && !bytes.Equal(named, r.from) && !bytes.Equal(named, r.to):
		if err := r.checkLeftover(ctx, named); err != nil {
			return err
		}
	}
	defer r.forget() // whatever was written
	if err := r.putReverse(ctx, named); err != nil {
		return err
	}
	return r.putForward(ctx)
}

// look reads the UID of the old name, and that of the new one if it is another one.
func (r *Rename) look(ctx context.Context) (uid, taken []byte, err error) {
	keys := [][]byte{r.from, r.to}
	if r.From == r.To {
		keys = keys[:1]
	}
	rows, err := r.d.db.Get(ctx, r.d.table, schema.FamilyID, keys)
	if err != nil {
		return nil, nil, fmt.Errorf("read the %s UIDs of %q and %q: %w", r.Kind, r.From, r.To, err)
	}
	uid = cell(rows[0], schema.UIDQualifier(r.Kind))
	if uid == nil {
		return nil, nil, storage.NoNameError{Name: r.From}
	}
	if len(uid) != r.d.layout.Width(r.Kind) {
		return nil, nil, r.d.badWidth(r.Kind, r.From, uid)
	}
	if r.From == r.To {
		return nil, nil, r.taken(uid)
	}
	if taken = cell(rows[1], schema.UIDQualifier(r.Kind)); bytes.Equal(taken, uid) {
		taken = nil // a rename that was interrupted
	}
	return uid, taken, nil
}

func (r *Rename) taken(uid []byte) error {
	return storage.NameTakenError{Table: r.d.table, Kind: r.Kind, From: r.From, To: r.To, UID: uid}
}

// named returns the name of a UID in the table, nil without one.
func (t *mappings) named(ctx context.Context, kind storage.NameKind, uid []byte) ([]byte, error) {
	rows, err := t.db.Get(ctx, t.table, schema.FamilyName, [][]byte{uid})
	if err != nil {
		return nil, fmt.Errorf("read the name of %s UID %X: %w", kind, uid, err)
	}
	return cell(rows[0], schema.UIDQualifier(kind)), nil
}

// checkLeftover returns an error unless the name that the UID has is that of a rename which was
// interrupted after its first step, and is not its name by the forward row of that name.
func (r *Rename) checkLeftover(ctx context.Context, named []byte) error {
	rows, err := r.d.db.Get(ctx, r.d.table, schema.FamilyID, [][]byte{named})
	if err != nil {
		return fmt.Errorf("read the %s UID of %q: %w", r.Kind, schema.DecodeName(named), err)
	}
	if other := cell(rows[0], schema.UIDQualifier(r.Kind)); string(other) == r.UID {
		return fmt.Errorf("%w on the same ID(\"%s\"): it has also the name %q: finish the rename of %q to that first, or see \"uid fsck\"",
			storage.ErrRenaming, storage.JavaBytes([]byte(r.UID)), schema.DecodeName(named), r.From)
	}
	return nil
}

// giveBack gives the UID its old name again if a rename to a name that others took meanwhile was
// interrupted after its first step.
func (r *Rename) giveBack(ctx context.Context, named, taken []byte) error {
	if !bytes.Equal(named, r.to) || len(taken) == 0 {
		return nil
	}
	defer r.forget()
	if _, err := r.d.putIf(ctx, r.d.column(schema.FamilyName, []byte(r.UID), r.Kind), named, r.from); err != nil {
		return fmt.Errorf("give %s UID %X its name %q back: %w", r.Kind, r.UID, r.From, err)
	}
	return nil
}

// putReverse is the first step.
func (r *Rename) putReverse(ctx context.Context, named []byte) error {
	if bytes.Equal(named, r.to) {
		return nil
	}
	held, err := r.d.putIf(ctx, r.d.column(schema.FamilyName, []byte(r.UID), r.Kind), named, r.to)
	switch {
	case err != nil:
		return fmt.Errorf("write the name of %s UID %X: %w", r.Kind, r.UID, err)
	case !bytes.Equal(held, r.to):
		return r.raced()
	}
	return nil
}

// putForward is the second step. If another process has given the new name a UID since, the first
// step is taken back.
func (r *Rename) putForward(ctx context.Context) error {
	held, err := r.d.putIfAbsent(ctx, r.d.column(schema.FamilyID, r.to, r.Kind), []byte(r.UID))
	switch {
	case err != nil:
		return fmt.Errorf("write the %s UID of %q: %w", r.Kind, r.To, err)
	case string(held) != r.UID:
		return errors.Join(r.giveBack(ctx, r.to, held), r.taken(held))
	}
	return r.checkNamed(ctx)
}

// checkNamed looks whether the UID still has the new name, and takes the second step back if not.
func (r *Rename) checkNamed(ctx context.Context) error {
	named, err := r.d.named(ctx, r.Kind, []byte(r.UID))
	if err != nil || bytes.Equal(named, r.to) {
		return err
	}
	if err := r.d.deleteCell(ctx, r.d.column(schema.FamilyID, r.to, r.Kind), []byte(r.UID)); err != nil {
		return fmt.Errorf("delete the %s UID of %q: %w", r.Kind, r.To, err)
	}
	return r.raced()
}

func (r *Rename) raced() error {
	return fmt.Errorf("%w on the same ID(\"%s\"): another process renames it", storage.ErrRenaming, storage.JavaBytes([]byte(r.UID)))
}

// Finish is the last step: the old name has no UID any more. It returns when all steps are durable.
func (r *Rename) Finish(ctx context.Context) error {
	release, err := enter(ctx, r.d.assigning[r.Kind])
	if err != nil {
		return err
	}
	defer release() // the old name gets no UID in between
	if err := r.d.deleteCell(ctx, r.d.column(schema.FamilyID, r.from, r.Kind), []byte(r.UID)); err != nil {
		r.forget() // it may be deleted
		return fmt.Errorf("delete the %s UID of %q: %w", r.Kind, r.From, err)
	}
	r.forget()
	c := r.d.caches[r.Kind]
	c.putBoth(r.To, r.UID, c.moment())
	return nil
}

// deleteCell deletes a cell that holds a value, durably together with what was checked and put
// before. A cell that holds another value, or is not there, stays as it is. On shared tables the
// deletion has the stamp of the cell: what another process puts meanwhile has a later one and stays.
func (t *mappings) deleteCell(ctx context.Context, c kv.Column, value []byte) error {
	rows, err := t.db.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
	if err != nil {
		return err
	}
	gone := []kv.Delete{{Qualifier: []byte(noColumn)}}
	if held, ok := findCell(rows[0], c.Qualifier); ok && bytes.Equal(held.Value, value) {
		gone = append(gone, kv.Delete{Qualifier: c.Qualifier, Time: held.Time})
	}
	return t.db.Apply(ctx, c.Table, c.Family, []kv.Mutation{{Key: c.Row, Deletes: gone}})
}

// noColumn is a column that is nowhere. To delete it by the engine's clock makes durable what was
// checked and put before, and makes the engine leave the present millisecond: otherwise a cell that was
// put, deleted with its own stamp and put again within one would stay hidden.
const noColumn = "tsdbridge.clock"

// forget forgets what is known of the UID and of both names.
func (r *Rename) forget() { r.d.caches[r.Kind].forget(r.UID, r.From, r.To) }

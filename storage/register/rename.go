package register

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// renameBatch is how many series get their new names from the observer at a time. New series wait
// meanwhile.
const renameBatch = 1024

// Rename gives the UID of a name another name. The series and their points keep their UIDs; the
// observer replaces what it has under the old name. Points that come under the old name afterwards
// are of another, new series.
//
// The old name keeps the UID in addition until all is done: after an error, or a crash, the same
// Rename finishes. The errors of uid.BeginRename say that it cannot be.
func (reg *Registrar) Rename(ctx context.Context, kind storage.NameKind, from, to string) error {
	if reg.observer != nil && !reg.registry.Loaded() {
		return fmt.Errorf("%w: a rename needs all series", storage.ErrNotReady)
	}
	r, err := reg.uids.BeginRename(ctx, kind, from, to)
	if err != nil {
		return err
	}
	defer r.End()
	reg.catalog.Renamed() // what is computed from now on has the new name
	f := reg.newFollowing([]uid.Renamed{{Kind: kind, UID: r.UID, From: from, To: to}})
	f.own = true
	if err := f.all(ctx); err != nil {
		return err
	}
	return f.finish(ctx, r)
}

// finish ends a rename of this process while no series is registered. Those that were registered
// under the old name in the meantime follow first.
func (f *following) finish(ctx context.Context, r *uid.Rename) error {
	release, err := f.naming.change(ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, ok := f.index.WholeSince(f.begun, f.index.WholeVersion()); !ok {
		clear(f.moved) // some were forgotten, and may have come back
	}
	if err := f.each(func(ids []index.ID) error { return f.move(ctx, ids) }); err != nil {
		return err
	}
	err = r.Finish(ctx)
	f.catalog.Renamed() // also after an error, which may have come after the change
	return err
}

// following is what the observer has of series whose UIDs were renamed on its way to their new names.
type following struct {
	*Registrar
	own   bool // this process renames, so that either name may be read
	uids  [3]map[string]bool
	to    [3]map[string]string // by old name
	from  [3]map[string]string // by new name; old names that are not known are missing
	begun storage.SeriesVersion
	moved []bool // by ID
}

func (reg *Registrar) newFollowing(renamed []uid.Renamed) *following {
	f := &following{Registrar: reg, begun: reg.index.WholeVersion()}
	for _, kind := range storage.NameKinds() {
		f.uids[kind], f.to[kind], f.from[kind] = map[string]bool{}, map[string]string{}, map[string]string{}
	}
	for _, r := range renamed {
		if f.uids[r.Kind][r.UID] = true; r.From != "" {
			f.to[r.Kind][r.From], f.from[r.Kind][r.To] = r.To, r.From
		}
	}
	return f
}

// all has the series follow, some at a time.
func (f *following) all(ctx context.Context) error {
	return f.each(func(ids []index.ID) error {
		release, err := f.naming.change(ctx)
		if err != nil {
			return err
		}
		defer release()
		return f.move(ctx, ids)
	})
}

// each calls visit with the series that have the UIDs and have not followed yet. Nothing observes
// those that are not registered.
func (f *following) each(visit func(ids []index.ID) error) error {
	if f.observer == nil {
		return nil
	}
	end := index.ID(f.index.Len())
	f.moved = append(f.moved, make([]bool, int(end)-len(f.moved))...)
	var having []index.ID
	for id := range end {
		if !f.moved[id] && f.Registrar.registry.Of(id).Exists() && f.has([]byte(f.index.TSUID(id))) {
			having = append(having, id)
		}
		if len(having) == renameBatch || id == end-1 && len(having) > 0 {
			if err := visit(having); err != nil {
				return err
			}
			having = having[:0]
		}
	}
	return nil
}

// has reports whether a series has one of the UIDs.
func (f *following) has(tsuid []byte) bool {
	if f.uids[storage.MetricName][string(tsuid[:f.layout.MetricWidth])] {
		return true
	}
	for key, value := range f.layout.Pairs(tsuid[f.layout.MetricWidth:]) {
		if f.uids[storage.TagKeyName][string(key)] || f.uids[storage.TagValueName][string(value)] {
			return true
		}
	}
	return false
}

// move has some series follow. Names do not change meanwhile, and no series is forgotten.
func (f *following) move(ctx context.Context, ids []index.ID) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id index.ID) bool { return !f.Registrar.registry.Of(id).Exists() })
	renamed, err := f.named(ctx, ids)
	if err != nil {
		return err
	}
	old := slices.Clone(renamed)
	for i := range renamed {
		if f.own {
			renamed[i].Series = withNames(renamed[i].Series, f.to)
		}
		old[i].Series = withNames(renamed[i].Series, f.from)
	}
	if err := f.observer.Renamed(ctx, old, renamed); err != nil {
		return fmt.Errorf("give %d series of renamed UIDs their places in the trees: %w", len(ids), err)
	}
	for _, id := range ids {
		f.moved[id] = true
	}
	return nil
}

// withNames returns a series that has other names in place of some.
func withNames(s storage.Series, names [3]map[string]string) storage.Series {
	if name, ok := names[storage.MetricName][s.Metric]; ok {
		s.Metric = name
	}
	s.Tags = slices.Clone(s.Tags)
	for i := range s.Tags {
		t := &s.Tags[i]
		if key, ok := names[storage.TagKeyName][t.Key]; ok {
			t.Key = key
		}
		if value, ok := names[storage.TagValueName][t.Value]; ok {
			t.Value = value
		}
	}
	slices.SortFunc(s.Tags, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
	return s
}

// pendingRenames are UIDs that other processes have renamed and that the observer does not know of
// yet.
type pendingRenames struct {
	mu   sync.Mutex // guards list; held while the observer follows
	list []uid.Renamed
}

// mostPending bounds the UIDs that are remembered while the observer cannot follow.
const mostPending = 100_000

// FollowRenames has the observer replace what it has of series whose UIDs another process has renamed,
// as Rename does. What fails is done by the next call.
func (reg *Registrar) FollowRenames(ctx context.Context, renamed []uid.Renamed) error {
	p := &reg.renamed
	p.mu.Lock()
	defer p.mu.Unlock()
	if reg.observer == nil {
		return nil
	}
	p.list = append(p.list, renamed...)
	if len(p.list) == 0 {
		return nil
	}
	if err := reg.newFollowing(p.list).all(ctx); err != nil {
		p.list = p.list[:min(len(p.list), mostPending)]
		return err
	}
	p.list = nil
	return nil
}

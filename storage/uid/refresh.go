package uid

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// clockMargin is how far clocks may differ, and how long an assignment may take between the counter
// and the rows.
const clockMargin = 5 * time.Minute

// looks is how often a renamed UID counts: the first look may come in the middle of the rename, the
// second one comes later.
const looks = 2

// renames is what a Dictionary remembers between two calls of Refresh.
type renames struct {
	mu       sync.Mutex     // guards all below; held while a Refresh runs
	counters []counters     // ascending by time; all but the first are younger than clockMargin
	noted    map[change]int // how often it was seen
}

// counters are the ids that were drawn at a time (milliseconds), by kind.
type counters struct {
	at    int64
	drawn [3]int64
}

// change is a reverse row that was written.
type change struct {
	kind storage.NameKind
	uid  number
	time int64 // milliseconds
}

// Renamed is a UID that has got another name.
type Renamed struct {
	Kind     storage.NameKind
	UID      string
	From, To string // From is "" if the old name is not known
}

// Refresh forgets names whose UIDs were given other names at or after since (milliseconds; 0: only
// remembers what is there now). It returns those UIDs that this process may have used: the ones in
// the caches, and the ones that were assigned more than clockMargin before.
//
// OpenTSDB's "uid rename" writes the reverse row with the new name, then the new forward row, and
// deletes the old forward row last. So a name may be read and remembered once more in between; the
// next Refresh that reaches back so far forgets it again. A lookup of the new name may come before Refresh:
// the caches note then that the UID had another one.
func (d *Dictionary) Refresh(ctx context.Context, since, now int64) (renamed []Renamed, err error) {
	r := &d.renames
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := d.noteCounters(ctx, now); err != nil || since == 0 {
		return nil, err
	}
	maps.DeleteFunc(r.noted, func(c change, _ int) bool { return c.time < since })
	found := d.takeMoved()
	scan := kv.Scan{Table: d.table, Family: schema.FamilyName, Since: since}
	for row, err := range d.db.Scan(ctx, scan) {
		if err != nil {
			d.putMoved(&found)
			return nil, fmt.Errorf("read the names that changed: %w", err)
		}
		for _, kind := range storage.NameKinds() {
			d.noteChange(&found[kind], kind, row)
		}
	}
	for kind := range found {
		renamed = append(renamed, d.forgetRenamed(storage.NameKind(kind), &found[kind])...)
	}
	return renamed, nil
}

// found is what a Refresh finds of a kind.
type found struct {
	moved map[number]string // UIDs that a lookup found under other names, with those that they had
	names map[number]string // of the UIDs that have been written, but for those that are new
	older map[number]bool   // those that had another name, whether it is known or not
}

func (d *Dictionary) takeMoved() (all [3]found) {
	for kind := range all {
		all[kind] = found{d.caches[kind].takeMoved(), map[number]string{}, map[number]bool{}}
	}
	return all
}

func (d *Dictionary) putMoved(all *[3]found) {
	for kind := range all {
		d.caches[kind].putMoved(all[kind].moved)
	}
}

// forgetRenamed forgets names that UIDs of a kind do not have any more, and returns these UIDs.
func (d *Dictionary) forgetRenamed(kind storage.NameKind, f *found) (renamed []Renamed) {
	if len(f.names) == 0 {
		return nil
	}
	before := d.caches[kind].rename(f.names)
	for uid, name := range f.names {
		from, known := before[uid]
		if moved, ok := f.moved[uid]; ok {
			from, known = moved, true
		}
		if known || f.older[uid] {
			renamed = append(renamed, Renamed{kind, uid.uid(d.layout.Width(kind)), from, name})
		}
	}
	return renamed
}

// noteCounters remembers the counters, and forgets those that are older than the youngest that is
// old enough.
func (d *Dictionary) noteCounters(ctx context.Context, now int64) error {
	rows, err := d.db.Get(ctx, d.table, schema.FamilyID, [][]byte{schema.MaxIDRow()})
	if err != nil {
		return fmt.Errorf("read the counters of UIDs: %w", err)
	}
	c := counters{at: now}
	for _, kind := range storage.NameKinds() {
		if raw := cell(rows[0], schema.UIDQualifier(kind)); raw != nil {
			// 0: not known, and then nothing was drawn before
			c.drawn[kind], _ = schema.DecodeCounter(raw)
		}
	}
	r := &d.renames
	r.counters = append(r.counters, c)
	for len(r.counters) > 1 && r.counters[1].at <= now-clockMargin.Milliseconds() {
		r.counters = r.counters[1:]
	}
	return nil
}

// noteChange adds the name of a reverse row to those that were found, unless it is merely new. A UID that is older than
// the row, so that it had another name, counts as renamed the first times that the row is seen.
func (d *Dictionary) noteChange(f *found, kind storage.NameKind, row kv.Row) {
	written, ok := findCell(row, schema.UIDQualifier(kind))
	if !ok || len(row.Key) != d.layout.Width(kind) {
		return
	}
	r, name := &d.renames, schema.DecodeName(written.Value)
	c := change{kind, numberOf(string(row.Key)), written.Time}
	older := r.noted[c] < looks && int64(c.uid) <= r.drawnBefore(kind, written.Time)
	_, moved := f.moved[c.uid]
	known, ok := d.caches[kind].forward(name, len(row.Key))
	if ok && known == string(row.Key) && !older && !moved {
		return // merely new
	}
	f.names[c.uid] = name
	if !older {
		return
	}
	f.older[c.uid] = true
	if r.noted == nil {
		r.noted = map[change]int{}
	}
	r.noted[c]++
}

// drawnBefore is the greatest id of a kind that was certainly drawn, and given its rows, before a
// time; 0 if none is known.
func (r *renames) drawnBefore(kind storage.NameKind, time int64) (id int64) {
	for _, c := range r.counters {
		if c.at <= time-clockMargin.Milliseconds() {
			id = c.drawn[kind]
		}
	}
	return id
}

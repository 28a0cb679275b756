package uid

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

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
	kind schema.Kind
	uid  number
	time int64 // milliseconds
}

// Renamed is a UID that has got another name.
type Renamed struct {
	Kind     schema.Kind
	UID      string
	From, To string // From is "" if the old name is not known
}

// Refresh forgets names whose UIDs were given other names at or after since (milliseconds; 0: only
// remembers what is there now). It returns those UIDs that this process may have used: the ones in
// the caches, and the ones that were assigned more than clockMargin before.
//
// OpenTSDB's "uid rename" writes the reverse row with the new name, then the new forward row, and
// deletes the old forward row last. So a name may be read and remembered once more in between; the
// next Refresh that reaches back so far forgets it again.
func (d *Dictionary) Refresh(ctx context.Context, since, now int64) (renamed []Renamed, err error) {
	r := &d.renames
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := d.noteCounters(ctx, now); err != nil || since == 0 {
		return nil, err
	}
	maps.DeleteFunc(r.noted, func(c change, _ int) bool { return c.time < since })
	var changed [3]map[number]string
	older := map[change]bool{}
	scan := kv.Scan{Table: d.table, Family: schema.FamilyName, Since: since}
	for row, err := range d.db.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("read the names that changed: %w", err)
		}
		for _, kind := range schema.Kinds() {
			if c, ok := d.noteChange(&changed[kind], kind, row); ok {
				older[change{kind: kind, uid: c}] = true
			}
		}
	}
	for kind, names := range changed {
		if len(names) == 0 {
			continue
		}
		before := d.caches[kind].rename(names)
		for uid, name := range names {
			if from, ok := before[uid]; ok || older[change{kind: schema.Kind(kind), uid: uid}] {
				renamed = append(renamed, Renamed{schema.Kind(kind), uid.uid(d.layout.Width(schema.Kind(kind))), from, name})
			}
		}
	}
	return renamed, nil
}

// noteCounters remembers the counters, and forgets those that are older than the youngest that is
// old enough.
func (d *Dictionary) noteCounters(ctx context.Context, now int64) error {
	rows, err := d.db.Get(ctx, d.table, schema.FamilyID, [][]byte{schema.MaxIDRow()})
	if err != nil {
		return fmt.Errorf("read the counters of UIDs: %w", err)
	}
	c := counters{at: now}
	for _, kind := range schema.Kinds() {
		if raw := cell(rows[0], kind.Qualifier()); raw != nil {
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

// noteChange adds the name of a reverse row to those that changed, unless it is known to have the
// UID. older is true for a UID that is older than the row, so that it had another name, the first
// times that the row is seen.
func (d *Dictionary) noteChange(changed *map[number]string, kind schema.Kind, row kv.Row) (uid number, older bool) {
	written, ok := findCell(row, kind.Qualifier())
	if !ok || len(row.Key) != d.layout.Width(kind) {
		return 0, false
	}
	name := schema.DecodeName(written.Value)
	if known, ok := d.caches[kind].forward(name, len(row.Key)); ok && known == string(row.Key) {
		return 0, false // merely new
	}
	if *changed == nil {
		*changed = map[number]string{}
	}
	c := change{kind, numberOf(string(row.Key)), written.Time}
	(*changed)[c.uid] = name
	r := &d.renames
	if r.noted[c] == looks || int64(c.uid) > r.drawnBefore(kind, written.Time) {
		return c.uid, false
	}
	if r.noted == nil {
		r.noted = map[change]int{}
	}
	r.noted[c]++
	return c.uid, true
}

// drawnBefore is the greatest id of a kind that was certainly drawn, and given its rows, before a
// time; 0 if none is known.
func (r *renames) drawnBefore(kind schema.Kind, time int64) (id int64) {
	for _, c := range r.counters {
		if c.at <= time-clockMargin.Milliseconds() {
			id = c.drawn[kind]
		}
	}
	return id
}

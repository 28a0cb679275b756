package uid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// ErrExhausted means that no UID of the configured width is left, ErrName that OpenTSDB cannot hold
// a name.
var (
	ErrExhausted = errors.New("all UIDs are assigned")
)

const (
	// concurrentAssignments is how many names of one call are given their rows at a time: each
	// takes two round trips.
	concurrentAssignments = 64
	// attempts is how often an id is drawn for a name: a drawn id is in use only if the counter is
	// smaller than the greatest id of the table.
	attempts = 16
)

// Assign returns the UIDs of names, in order, and gives a UID to each name that has none. errs is
// nil when all went well, else it has one error per name: ErrName and ErrExhausted for that name
// alone, any other error for all that could not be finished. A name may occur more than once.
//
// On an engine of our own a new name is durable when an Apply returns that began later, as after a
// check-and-put: what is made of UIDs is written by one.
//
// The order of the steps is OpenTSDB's (UniqueId.getOrCreateId): count, write the reverse row,
// write the forward row, each only if it is absent, so a crash leaves at worst an unused id and
// never a UID without a name.
func (d *Dictionary) Assign(ctx context.Context, kind storage.NameKind, names []string) (uids []string, errs []error) {
	uids, missing := d.known(kind, names)
	if !d.db.Exclusive { // elsewhere the table is near, and read once: when it is this call's turn
		if err := d.fetchForward(ctx, kind, names, uids, missing); err != nil {
			return uids, repeat(err, len(names))
		}
	}
	unknown := newNamesOf(names, uids)
	if unknown == nil {
		return uids, nil
	}
	release, err := enter(ctx, d.assigning[kind])
	if err != nil {
		return uids, repeat(err, len(names))
	}
	defer release()
	d.assignAll(ctx, kind, unknown)
	for i, name := range names {
		if uids[i] != "" {
			continue
		}
		n := unknown.at[name]
		if err := unknown.errs[n]; err != nil {
			if errs == nil {
				errs = make([]error, len(names))
			}
			errs[i] = err
			continue
		}
		uids[i] = unknown.uids[n]
	}
	return uids, errs
}

// newNames are distinct names that have no UID yet, with what becomes of them.
type newNames struct {
	names, uids []string
	errs        []error
	at          map[string]int // by name

	keys  [][]byte // of the forward rows, by name
	order []int    // the names that have a key, in the order of the keys
}

// newNamesOf collects the names that have no UID; nil: all have one.
func newNamesOf(names, uids []string) *newNames {
	missing := 0
	for _, uid := range uids {
		if uid == "" {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	n := &newNames{names: make([]string, 0, missing), at: make(map[string]int, missing)}
	for i, name := range names {
		if _, twice := n.at[name]; uids[i] == "" && !twice {
			n.at[name] = len(n.names)
			n.names = append(n.names, name)
		}
	}
	n.uids, n.errs = make([]string, len(n.names)), make([]error, len(n.names))
	return n
}

// encode makes the keys. A name that cannot be stored gets an error. Neighbours in the table are
// cheaper to read and to insert one after the other.
func (n *newNames) encode() {
	size := 0
	for _, name := range n.names {
		size += len(name)
	}
	all := make([]byte, 0, size)
	n.keys, n.order = make([][]byte, len(n.names)), make([]int, 0, len(n.names))
	for i, name := range n.names {
		begin := len(all)
		var err error
		if all, err = schema.AppendName(all, name); err != nil {
			n.errs[i] = fmt.Errorf("%w: %w", storage.ErrName, err)
			continue
		}
		n.keys[i] = all[begin:len(all):len(all)]
		n.order = append(n.order, i)
	}
	slices.SortFunc(n.order, func(a, b int) int { return bytes.Compare(n.keys[a], n.keys[b]) })
}

// isOpen reports whether a name has neither a UID nor an error.
func (n *newNames) isOpen(i int) bool { return n.uids[i] == "" && n.errs[i] == nil }

// open returns the numbers of the names that have neither a UID nor an error.
func (n *newNames) open() []int {
	open := make([]int, 0, len(n.names))
	for i := range n.names {
		if n.isOpen(i) {
			open = append(open, i)
		}
	}
	return open
}

// fail gives all names that have no UID an error, unless they have one.
func (n *newNames) fail(err error) {
	for _, i := range n.open() {
		n.errs[i] = err
	}
}

// assignAll gives new names their UIDs or an error.
func (d *Dictionary) assignAll(ctx context.Context, kind storage.NameKind, n *newNames) {
	n.encode()
	moment := d.caches[kind].moment()
	// Another request, or another process, may have been faster while this one waited for its turn.
	if err := d.lookAgain(ctx, kind, n); err != nil {
		n.fail(err)
		return
	}
	open := n.open()
	if len(open) == 0 {
		return
	}
	if d.random && kind == storage.MetricName {
		d.assignRandom(ctx, n, open, moment)
		return
	}
	first, err := d.draw(ctx, kind, len(open))
	if err != nil {
		n.fail(err)
		return
	}
	if d.db.Exclusive && len(open) >= manyNames {
		ok, err := d.assignTogether(ctx, kind, n, open, first)
		if err != nil {
			n.fail(err)
		}
		if ok || err != nil {
			return
		}
	}
	var group errgroup.Group
	group.SetLimit(concurrentAssignments)
	for at, i := range open {
		group.Go(func() error {
			n.uids[i], n.errs[i] = d.assign(ctx, kind, n.names[i], first+int64(at))
			return nil
		})
	}
	_ = group.Wait() // the errors are in n
	d.keep(kind, n, open, moment)
}

// keep has the caches know the new UIDs.
func (d *Dictionary) keep(kind storage.NameKind, n *newNames, open []int, moment uint64) {
	for _, i := range open {
		if n.errs[i] == nil {
			d.caches[kind].putBoth(n.names[i], n.uids[i], moment)
		}
	}
}

// enter takes a turn, which release ends.
func enter(ctx context.Context, turn chan struct{}) (release func(), err error) {
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lookAgain finds the UIDs of names that have one by now.
func (d *Dictionary) lookAgain(ctx context.Context, kind storage.NameKind, n *newNames) error {
	width := d.layout.Width(kind)
	keys, at := make([][]byte, 0, len(n.order)), make([]int, 0, len(n.order))
	for _, i := range n.order {
		var ok bool
		if n.uids[i], ok = d.caches[kind].forward(n.names[i], width); !ok {
			keys, at = append(keys, n.keys[i]), append(at, i)
		}
	}
	return d.fetchKeys(ctx, kind, n.names, n.uids, keys, at)
}

// draw reserves n ids where nothing speaks against an assignment.
func (d *Dictionary) draw(ctx context.Context, kind storage.NameKind, n int) (first int64, err error) {
	if err := d.Exhausted(kind); err != nil {
		return 0, err
	}
	if err := d.before(ctx, kind, 0); err != nil {
		return 0, err
	}
	if first, err = d.reserve(ctx, kind, n); err != nil {
		return 0, err
	}
	return first, d.before(ctx, kind, first)
}

// reserve draws n consecutive ids and returns the first. TSDs draw one at a time from the same
// counter.
func (d *Dictionary) reserve(ctx context.Context, kind storage.NameKind, n int) (int64, error) {
	last, err := d.db.Increment(ctx, d.column(schema.FamilyID, schema.MaxIDRow(), kind), int64(n))
	if err != nil {
		return 0, fmt.Errorf("count up the %s UIDs: %w", kind, err)
	}
	d.drawn(kind, last)
	return last - int64(n) + 1, nil
}

// another returns an id to try in place of one that is in use.
func (d *Dictionary) another(ctx context.Context, kind storage.NameKind) (int64, error) {
	if d.random && kind == storage.MetricName {
		return d.randomID(), nil
	}
	return d.reserve(ctx, kind, 1)
}

// assign gives name the id, or the one that another process gave it in the meantime.
func (d *Dictionary) assign(ctx context.Context, kind storage.NameKind, name string, id int64) (string, error) {
	raw, err := schema.EncodeName(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", storage.ErrName, err)
	}
	for range attempts {
		uid, err := schema.EncodeUID(id, d.layout.Width(kind))
		if err != nil {
			return "", d.exhausted(kind)
		}
		won, err := d.putIfAbsent(ctx, d.column(schema.FamilyName, uid, kind), raw)
		if err != nil {
			return "", fmt.Errorf("write the name of %s UID %x: %w", kind, uid, err)
		}
		if bytes.Equal(won, raw) {
			return d.putForward(ctx, kind, raw, uid)
		}
		if id, err = d.another(ctx, kind); err != nil {
			return "", err
		}
	}
	if d.random && kind == storage.MetricName {
		return "", fmt.Errorf("%w: %d random UIDs of metrics are all in use", ErrExhausted, attempts)
	}
	return "", fmt.Errorf("the counter of %s UIDs in table %s is behind its rows: repair it with OpenTSDB's \"uid fsck fix\"", kind, d.table)
}

// putForward makes uid the UID of a name, unless another process was faster; then the reverse row
// of the unused id is taken back, since OpenTSDB's "uid fsck" would report it forever.
func (d *Dictionary) putForward(ctx context.Context, kind storage.NameKind, name, uid []byte) (string, error) {
	won, err := d.putIfAbsent(ctx, d.column(schema.FamilyID, name, kind), uid)
	if err != nil {
		return "", fmt.Errorf("write the %s UID of %q: %w", kind, schema.DecodeName(name), err)
	}
	if bytes.Equal(won, uid) {
		return string(uid), nil
	}
	if len(won) != d.layout.Width(kind) {
		return "", d.badWidth(kind, schema.DecodeName(name), won)
	}
	unused := kv.Mutation{Key: uid, Deletes: []kv.Delete{{Qualifier: schema.UIDQualifier(kind)}}}
	if err := d.db.Apply(ctx, d.table, schema.FamilyName, []kv.Mutation{unused}); err != nil {
		return "", fmt.Errorf("take back the unused %s UID %x: %w", kind, uid, err)
	}
	return string(won), nil
}

// putIfAbsent writes a cell unless it exists and returns what it then holds.
func (t *mappings) putIfAbsent(ctx context.Context, c kv.Column, value []byte) ([]byte, error) {
	return t.putIf(ctx, c, nil, value)
}

// putIf writes a cell if it holds expected (nil: if it is absent) and returns what it then holds. A
// lost answer may look like a lost race, so a "no" is never believed without reading.
func (t *mappings) putIf(ctx context.Context, c kv.Column, expected, value []byte) ([]byte, error) {
	won, err := t.db.CheckAndPut(ctx, c, expected, value)
	if err != nil {
		return nil, err
	}
	if won {
		return value, nil
	}
	rows, err := t.db.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
	if err != nil {
		return nil, err
	}
	return cell(rows[0], c.Qualifier), nil
}

func (t *mappings) column(family string, row []byte, kind storage.NameKind) kv.Column {
	return kv.Column{Table: t.table, Family: family, Row: row, Qualifier: schema.UIDQualifier(kind)}
}

func repeat(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

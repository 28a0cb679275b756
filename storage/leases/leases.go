// Package leases decides by name which of the processes on shared tables does some work, and keeps how
// far the work is. It knows nothing of the work.
package leases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Leases are those of one process. They are safe for concurrent use; one name is used by one caller at a
// time.
type Leases struct {
	db    *kv.Engine
	table string
	now   func() time.Time
	owner string

	mu      sync.Mutex
	records map[string][]byte // of the leases that this process has
}

// New returns leases in a table of shared tables.
func New(db *kv.Engine, table string, now func() time.Time) *Leases {
	return &Leases{db: db, table: table, now: now, owner: fmt.Sprintf("%016x", rand.Uint64()), records: map[string][]byte{}} //nolint:gosec // no secret
}

// A record is a lease as it is stored.
type record struct {
	Owner string    `json:"owner,omitempty"` // empty: nobody
	Until time.Time `json:"until"`
	Done  time.Time `json:"done"` // how far the work is
}

// Hold takes a lease, or renews it, for a time from now. It returns how far the work is, the zero time if
// that is not known. held is false if another process has the lease. The clocks of processes may differ, so
// two may have it for a moment.
func (l *Leases) Hold(ctx context.Context, name string, length time.Duration) (held bool, done time.Time, err error) {
	was, text, err := l.read(ctx, name)
	if err != nil {
		return false, done, err
	}
	now := l.now()
	if was.Owner != "" && was.Owner != l.owner && was.Until.After(now) {
		return false, was.Done, nil
	}
	held, err = l.write(ctx, name, text, record{l.owner, now.Add(length), was.Done})
	return held, was.Done, err
}

// Note notes how far the work of a lease is that Hold gave, and renews it. It is false if another process has
// taken it since.
func (l *Leases) Note(ctx context.Context, name string, done time.Time, length time.Duration) (held bool, err error) {
	return l.write(ctx, name, l.record(name), record{l.owner, l.now().Add(length), done})
}

// Release gives a lease back that this process may have. The work is as far as it was noted.
func (l *Leases) Release(ctx context.Context, name string) error {
	text := l.record(name)
	if text == nil {
		return nil
	}
	var was record
	if err := json.Unmarshal(text, &was); err != nil {
		return err
	}
	_, err := l.write(ctx, name, text, record{Done: was.Done})
	l.remember(name, nil)
	return err
}

func (l *Leases) record(name string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.records[name]
}

func (l *Leases) remember(name string, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records[name] = text
}

func column(table, name string) kv.Column {
	return kv.Column{Table: table, Family: schema.FamilyData, Row: own.NamedLeaseKey(name), Qualifier: []byte(own.NamedLeaseQualifier)}
}

// read reads a lease. One that cannot be understood counts as nobody's.
func (l *Leases) read(ctx context.Context, name string) (r record, text []byte, err error) {
	c := column(l.table, name)
	rows, err := l.db.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
	if err != nil {
		return r, nil, fmt.Errorf("read the lease of %s: %w", name, err)
	}
	for _, cell := range rows[0].Cells {
		if bytes.Equal(cell.Qualifier, c.Qualifier) {
			text = slices.Clone(cell.Value)
			if json.Unmarshal(text, &r) != nil {
				r = record{}
			}
		}
	}
	return r, text, nil
}

// write puts a lease in the place of one that was read or written. It is false if another process was
// faster.
func (l *Leases) write(ctx context.Context, name string, was []byte, r record) (bool, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	put, err := l.db.CheckAndPut(ctx, column(l.table, name), was, text)
	if err == nil && !put { // the answer to a first attempt may have been lost
		var now []byte
		_, now, err = l.read(ctx, name)
		put = bytes.Equal(now, text)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("write the lease of %s: %w", name, err)
	case put:
		l.remember(name, text)
	default:
		l.remember(name, nil)
	}
	return put, nil
}

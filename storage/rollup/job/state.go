package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// A state is how far the filling is. It stands in one cell.
type state struct {
	// Owner is the process that fills shared tables, until its lease ends (milliseconds).
	Owner string `json:"owner,omitempty"`
	Until int64  `json:"until,omitempty"`
	// Looked is when the last look for late cells of shared tables began, and Deep when the last one did that
	// went far back, milliseconds.
	Looked int64   `json:"looked,omitempty"`
	Deep   int64   `json:"deep,omitempty"`
	Tasks  []*task `json:"tasks"`
}

// A task is how far one interval of one rule is. All times are seconds.
type task struct {
	Rule     string `json:"rule"`
	Interval string `json:"interval"`
	// All intervals from From to before Done are filled, but for late points.
	From uint32 `json:"from"`
	Done uint32 `json:"done"`
	// Next is the first metric that is left of the intervals from Done on that are being filled.
	Next string `json:"next,omitempty"`
	// Windows means that the intervals have windows as well.
	Windows bool `json:"windows,omitempty"`
}

// leaseTime is how long a process that does not renew its lease keeps others from filling shared tables;
// renewEvery is how often the state is saved at least while there is work.
const (
	leaseTime  = 5 * time.Minute
	renewEvery = 10 * time.Second
)

// errLeaseLost ends a look when another process has taken over.
var errLeaseLost = errors.New("another process has taken over")

func (f *Filler) column() kv.Column {
	return kv.Column{Table: f.o.Table, Family: schema.FamilyData, Row: own.FillStateKey(), Qualifier: []byte(own.FillQualifier)}
}

// load reads the state, and fits it to the rules: what is new begins at its beginning, and what is no longer
// there is forgotten. A record that cannot be read counts as none.
func (f *Filler) load(ctx context.Context) error {
	c := f.column()
	rows, err := f.o.DB.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
	if err != nil {
		return fmt.Errorf("read the state of the rollup tables in %s: %w", c.Table, err)
	}
	f.record, f.state = nil, state{}
	for _, cell := range rows[0].Cells {
		if bytes.Equal(cell.Qualifier, c.Qualifier) {
			f.record = cell.Value
			if err := json.Unmarshal(cell.Value, &f.state); err != nil {
				f.state = state{}
				f.o.Logger.Warn("the state of the rollup tables cannot be read, so they are filled from the beginning; nothing is to be done", "table", c.Table, "err", err)
			}
		}
	}
	was := map[[2]string]*task{}
	for _, t := range f.state.Tasks {
		if t != nil && t.From <= t.Done {
			was[[2]string{t.Rule, t.Interval}] = t
		}
	}
	f.state.Tasks = nil
	now := f.o.Now()
	for n := range f.o.Rules {
		rule := &f.o.Rules[n]
		for _, i := range rule.Intervals {
			first := before(now, rule.Back, i)
			t := was[[2]string{rule.Name, i.Name}]
			// a rule that goes further back than before begins anew; its first intervals may have begun since
			if t == nil || t.From > first && t.From-first > daySeconds || t.Done%uint32(i.Seconds) != 0 || f.o.windows() && !t.Windows {
				t = &task{Rule: rule.Name, Interval: i.Name, From: first, Done: first}
			}
			t.Windows = f.o.windows()
			f.late.passes(f.lastOf(t.Done) + 1) // whatever the clock says now
			f.state.Tasks = append(f.state.Tasks, t)
		}
	}
	return nil
}

// save writes the state, on shared tables if it is as it was read. A process that writes the tables alone
// writes it after the values that it tells of, in the order of the engine.
func (f *Filler) save(ctx context.Context) error {
	f.saved = f.o.Now()
	if f.o.shared() {
		f.state.Owner, f.state.Until = f.owner, f.saved.Add(leaseTime).UnixMilli()
	}
	record, err := json.Marshal(&f.state)
	if err != nil || bytes.Equal(record, f.record) {
		return err
	}
	c := f.column()
	if !f.o.shared() {
		m := kv.Mutation{Key: c.Row, Puts: []kv.Put{{Qualifier: c.Qualifier, Value: record}}}
		if err = f.o.DB.Put(ctx, c.Table, c.Family, []kv.Mutation{m}); err == nil {
			f.record = record
		}
		return f.failedState(err)
	}
	put, err := f.o.DB.CheckAndPut(ctx, c, f.record, record)
	if err == nil && !put { // the answer to a first attempt may have been lost
		var rows []kv.Row
		if rows, err = f.o.DB.Get(ctx, c.Table, c.Family, [][]byte{c.Row}); err == nil {
			put = len(rows[0].Cells) == 1 && bytes.Equal(rows[0].Cells[0].Value, record)
		}
	}
	switch {
	case err != nil:
		return f.failedState(err)
	case !put:
		return errLeaseLost
	}
	f.record = record
	return nil
}

func (f *Filler) failedState(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write the state of the rollup tables in %s: %w", f.o.Table, err)
}

// Forget deletes the state: late points are not noted, so that nothing is known of the tables afterwards.
func Forget(ctx context.Context, db *kv.Engine, table string) error {
	key := own.FillStateKey()
	rows, err := db.Get(ctx, table, schema.FamilyData, [][]byte{key})
	if err != nil || len(rows[0].Cells) == 0 {
		return err
	}
	return db.Apply(ctx, table, schema.FamilyData, []kv.Mutation{{Key: key, DeleteRow: true}})
}

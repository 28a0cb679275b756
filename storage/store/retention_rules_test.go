package store_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// rulesOf are rules whose filters match too much: by tag, by metric, and everything.
func rulesOf() []retention.Rule {
	has := func(part string) func(storage.Series) bool {
		return func(s storage.Series) bool { return strings.Contains(s.String(), part) }
	}
	return []retention.Rule{
		{Name: "host", Age: 5 * time.Hour, Matches: has("host=a"), Filters: []storage.Filter{{Keys: []string{"host"}, Values: []string{"a", "b"}}}},
		{Name: "metric", Age: 30 * time.Hour, Matches: has("m1"), Filters: []storage.Filter{{Match: func(m string) bool { return m != "m2" }}}},
		{Name: "all", Age: 60 * time.Hour, Matches: func(storage.Series) bool { return true }},
	}
}

// ageOf is the shortest age of a series by these rules.
func ageOf(s storage.Series) time.Duration {
	age := time.Duration(math.MaxInt64)
	for _, r := range rulesOf() {
		if r.Matches(s) {
			age = min(age, r.Age)
		}
	}
	return age
}

// ruledStore is a store with rules of the retention, and the model of it.
type ruledStore struct {
	*storetest.Process
	t     *testing.T
	clock atomic.Int64 // milliseconds
	list  []storage.Series
	refs  []storage.Ref
	model *storetest.Model
}

func newRuledStore(t *testing.T, db kv.KV, exclusive bool) *ruledStore {
	t.Helper()
	s := &ruledStore{t: t}
	s.clock.Store(deleteBegin)
	if shared, ok := db.(*kv.Shared); ok {
		shared.SetClock(func() int64 { return s.clock.Add(1) })
	}
	s.Process = storetest.StartBuffered(t, db, logtest.New(1), func(o *store.Options) {
		o.Exclusive, o.RetentionRules = exclusive, rulesOf()
		o.Now = func() time.Time { return time.UnixMilli(s.clock.Add(1)) }
	})
	for m := range 4 {
		for _, host := range []string{"a", "b", "c"} {
			s.list = append(s.list, storetest.Series(fmt.Sprint("m", m), "host", host))
		}
	}
	s.refs, s.model = s.Resolve(s.list), storetest.NewModel(len(s.list))
	return s
}

// write appends a point of each series at a time.
func (s *ruledStore) write(time int64) {
	s.t.Helper()
	var b storage.Batch
	for n, ref := range s.refs {
		b.Add(ref, time, float64(n))
		s.model.Put(n, time, storetest.Sample{Bits: math.Float64bits(float64(n))})
	}
	if err := s.Append(s.t.Context(), &b); err != nil {
		s.t.Fatal(err)
	}
}

// expire notes what a pass deletes: points of hours that are over for as long as the age.
func (s *ruledStore) expire() {
	for n := range s.list {
		end := (s.clock.Load() - ageOf(s.list[n]).Milliseconds()) / 3600_000 * 3600_000
		s.model.Delete(n, 0, end-1)
	}
}

func (s *ruledStore) check(when string) {
	s.t.Helper()
	if diff := s.model.Diff(storetest.Read(s.t, s.Store, s.refs)); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s", when, diff)
	}
}

func ruledEngines(t *testing.T) map[string]kv.KV {
	return map[string]kv.KV{"memory": kv.NewMem(storetest.Tables()...), "pebble": openPebble(t), "shared": kv.NewShared(storetest.Tables()...)}
}

// TestRetentionRules writes for days, with passes at random moments: each deletes the hours that are
// too old by the shortest age of their series, and nothing else.
func TestRetentionRules(t *testing.T) {
	for name, db := range ruledEngines(t) {
		t.Run(name, func(t *testing.T) {
			s := newRuledStore(t, db, name != "shared")
			rng := rand.New(rand.NewPCG(1, 2))
			for step := range 150 {
				s.write(s.clock.Load() - 1000)
				s.clock.Add(rng.Int64N(3600_000))
				if rng.IntN(4) > 0 {
					continue
				}
				if rng.IntN(2) == 0 {
					if err := s.FlushAll(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				s.expire() // the clock ticks, but no hour ends in the pass: see the check below
				hour := s.clock.Load() / 3600_000
				if err := s.DeleteByRules(t.Context()); err != nil {
					t.Fatal(err)
				}
				if s.clock.Load()/3600_000 == hour {
					s.check(fmt.Sprint("step ", step))
				} else {
					s.expire()
				}
			}
		})
	}
}

// TestRetentionRulesLate: points of hours that a pass has been at are deleted by the first pass of
// the next day.
func TestRetentionRulesLate(t *testing.T) {
	for name, db := range ruledEngines(t) {
		t.Run(name, func(t *testing.T) {
			s := newRuledStore(t, db, name != "shared")
			pass := func() {
				t.Helper()
				if err := s.DeleteByRules(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s.clock.Add(200 * 3600_000)
			pass()
			s.write(deleteBegin + 1000)
			s.check("before the pass")
			s.clock.Add(24 * 3600_000)
			pass()
			s.expire()
			s.check("a day later")
		})
	}
}

// TestRetentionRulesGoOn lets a pass fail in the middle. The next one finishes it.
func TestRetentionRulesGoOn(t *testing.T) {
	for left, fails := int64(0), true; fails; left++ {
		db := &failing{Local: kv.NewMem(storetest.Tables()...)}
		db.left.Store(math.MaxInt64)
		s := newRuledStore(t, db, true)
		for h := range int64(100) {
			s.write(deleteBegin + h*3600_000)
		}
		if err := s.FlushAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.clock.Add(100 * 3600_000)
		db.left.Store(left)
		err := s.DeleteByRules(t.Context())
		if fails = err != nil; fails && !errors.Is(err, errFails) || !fails && left < 3 {
			t.Errorf("after %d changes: %v", left, err)
		}
		db.left.Store(math.MaxInt64)
		if err := s.DeleteByRules(t.Context()); err != nil {
			t.Error(err)
		}
		s.expire()
		s.check(fmt.Sprint("after ", left, " changes"))
	}
}

func TestRetentionRulesRefused(t *testing.T) {
	o := store.DefaultOptions()
	o.RetentionRules = rulesOf()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.RetentionRules = slices.Clone(o.RetentionRules)
	o.RetentionRules[1].Age = time.Hour - 1
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "metric") {
		t.Errorf("an age below an hour: %v", err)
	}
}

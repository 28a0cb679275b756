package rules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// A testStore is what a test writes and asks.
type testStore struct {
	appendable promstorage.Appendable
	queryable  promstorage.Queryable
	ask        promrules.QueryFunc
	close      func() error
}

// storeOf returns the store of a test: that of the Service, or one of the module for a test at times that
// the schema does not have, before 1970 and after 2106.
func (s *Service) storeOf(t Test) (testStore, error) {
	start := t.Group.start()
	if start.Before(time.Unix(0, 0)) || start.Add(t.Group.last()).After(time.Unix(math.MaxUint32, 0)) {
		return s.moduleStore(t)
	}
	return testStore{s.o.Appendable, s.o.Queryable, s.ask, func() error { return nil }}, nil
}

func (s *Service) moduleStore(t Test) (testStore, error) {
	dir, err := os.MkdirTemp("", "rule-test")
	if err != nil {
		return testStore{}, err
	}
	o := tsdb.DefaultOptions()
	o.RetentionDuration, o.WALSegmentSize = 0, -1
	o.MinBlockDuration = (24 * time.Hour).Milliseconds() // as promtool's
	o.MaxBlockDuration = o.MinBlockDuration
	db, err := tsdb.Open(dir, nil, nil, o, nil)
	if err != nil {
		return testStore{}, errors.Join(err, os.RemoveAll(dir))
	}
	return testStore{db, db, s.askModule(t.Module, db), func() error { return errors.Join(db.Close(), os.RemoveAll(dir)) }}, nil
}

// askModule evaluates queries by the module's engine.
func (s *Service) askModule(engine promql.QueryEngine, q promstorage.Queryable) promrules.QueryFunc {
	ask := promrules.EngineQueryFunc(engine, q)
	return func(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
		f, foreign := parseForeign(text, slices.Collect(maps.Keys(*s.evaluators.Load())))
		switch {
		case !foreign:
			return ask(ctx, text, at)
		case f.language != PromQL:
			return nil, fmt.Errorf("lang: %s: a test before 1970 or after 2106 has PromQL alone", f.language)
		}
		return ask(ctx, f.text, at)
	}
}

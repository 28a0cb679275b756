package source

import (
	"context"
	"math"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
)

// A Retention is how a series is kept.
type Retention struct {
	Name        string
	Archives    []conf.Archive // the finest first
	Aggregation conf.Aggregation
}

// Retentions returns how the series are kept that a fetch finds, in the order of the names. Those that no rule and no
// imported file gives archives have one of their own step that is as long as a whisper file may be.
func (s *Source) Retentions(ctx context.Context, f eval.Fetch) ([]Retention, error) {
	targets, err := s.find(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := s.lay(ctx, targets, span{f.From, f.Until, f.Now}); err != nil {
		return nil, err
	}
	out := make([]Retention, len(targets))
	for i, l := range targets {
		longest := []conf.Archive{{Step: l.layout.archives[0].Step}}
		longest[0].Points = math.MaxInt32 / longest[0].Step
		layout := l.layout
		layout.bound(longest, s.o.Aggregation.Of(l.name))
		out[i] = Retention{Name: l.name, Archives: layout.archives, Aggregation: layout.aggregation}
	}
	return out, nil
}

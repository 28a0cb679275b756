package tsdtext

import (
	"context"
	"errors"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// importRollups are the rolled up values of lines.
type importRollups struct {
	series []storage.Series
	values []rollup.Point
	lines  []int
}

// addRollup adds the rolled up value of a line.
func (p *importPart) addRollup(words []string) error {
	if !p.to.rollups.Configured() {
		return errors.New("rolled up values are taken with --storage.rollups")
	}
	one, err := p.to.rollups.ParseLine(words)
	if err != nil {
		return err
	}
	r := &p.rolled
	r.series, r.values, r.lines = append(r.series, one.Series), append(r.values, one.Value), append(r.lines, p.stored.Lines)
	return nil
}

// storeRollups stores the rolled up values, and refuses those of series that the store does not take.
func (p *importPart) storeRollups(ctx context.Context, refuse func(line int, err error)) error {
	r := &p.rolled
	if len(r.values) == 0 {
		return nil
	}
	refused, err := p.to.rollups.Store(ctx, r.series, r.values)
	if err != nil {
		return err
	}
	for i, err := range refused {
		if err != nil {
			refuse(r.lines[i], err)
		}
	}
	return nil
}

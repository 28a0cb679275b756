package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A SeriesSlots is what a row has of a series.
type SeriesSlots struct {
	Key   []byte // of the row
	TSUID []byte
	Slots []storage.ArchiveSlots
	// Bad is why some of the row cannot be read, if it cannot.
	Bad error
}

// Each calls visit with the rows of the table from a key on (nil: all), in the order of their keys. visit may keep what it
// gets. An error of visit ends it.
func (a *Archives) Each(ctx context.Context, from []byte, visit func(SeriesSlots) error) error {
	if err := a.o.Ready(); err != nil {
		return err
	}
	var decoder columns.Decoder
	for row, err := range a.o.DB.Scan(ctx, kv.Scan{Table: a.o.Table, Family: schema.FamilyData, Start: from}) {
		switch {
		case errors.Is(err, kv.ErrNoTable):
			return nil // nothing was ever put
		case err != nil:
			return fmt.Errorf("read archives: %w", err)
		}
		one := SeriesSlots{Key: row.Key}
		key, err := a.o.Layout.ParseRowKey(row.Key)
		if err != nil {
			one.Bad = err
		} else {
			one.TSUID = key.AppendTSUID(nil)
			for _, c := range row.Cells {
				one.add(&decoder, key.Base, c)
			}
		}
		if err := visit(one); err != nil {
			return err
		}
	}
	return nil
}

// add adds the slots of a cell.
func (s *SeriesSlots) add(decoder *columns.Decoder, base uint32, c kv.Cell) {
	step, ok := columns.ArchiveStep(c.Qualifier)
	if !ok {
		return // no reader sees it
	}
	times, values, err := decoder.AppendArchive(nil, nil, c.Value, base, step)
	if err != nil {
		s.Bad = fmt.Errorf("row %X: %w", s.Key, err)
		return
	}
	s.Slots = append(s.Slots, storage.ArchiveSlots{Step: step, Times: times, Values: values})
}

package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// layoutQualifier is where a store that only tsdbridge uses remembers its layout, in the counters' row. OpenTSDB's
// tables record it nowhere, and a wrong salt just finds nothing.
const layoutQualifier = "tsdbridge.layout"

// PinLayout records the layout with which an exclusive store was made and refuses another. It changes nothing on shared tables.
func (s *Store) PinLayout(ctx context.Context) error {
	if !s.o.Exclusive {
		return nil
	}
	column := kv.Column{Table: s.o.Tables.UID, Family: schema.FamilyID, Row: schema.MaxIDRow(), Qualifier: []byte(layoutQualifier)}
	want := describeLayout(s.layout)
	if _, err := s.db.CheckAndPut(ctx, column, nil, []byte(want)); err != nil {
		return err
	}
	rows, err := s.db.Get(ctx, column.Table, column.Family, [][]byte{column.Row})
	if err != nil {
		return err
	}
	for _, c := range rows[0].Cells {
		if string(c.Qualifier) == layoutQualifier {
			if string(c.Value) != want {
				return fmt.Errorf("the store was made with %s and cannot be read with %s", c.Value, want)
			}
			return nil
		}
	}
	return errors.New("the store's layout was written and is not there")
}

func describeLayout(l schema.Layout) string {
	text := fmt.Sprintf("--storage.uid-width.metric=%d --storage.uid-width.tagk=%d --storage.uid-width.tagv=%d --storage.salt.width=%d",
		l.MetricWidth, l.TagkWidth, l.TagvWidth, l.SaltWidth)
	if l.SaltWidth > 0 {
		text += fmt.Sprintf(" --storage.salt.buckets=%d", l.SaltBuckets)
	}
	return text
}

package storage

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A storedEngine shows rows in its own memory and form, so that points are decoded from where they lie: no cells are made only to be taken
// apart. Engines without it are asked for cells.
type storedEngine interface {
	// GetStored calls visit with those of the keys, which ascend, that have a row; near says that most rows between them are wanted too.
	GetStored(ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []kv.StoredCell) error) error
	// ScanStored calls visit with the rows of a scan for whole rows.
	ScanStored(ctx context.Context, s kv.Scan, visit func(key []byte, cells []kv.StoredCell) error) error
	// Costs says what these cost.
	Costs() kv.Costs
}

// clusterCosts follow from the reference measurements on HBase 2.6, for rows of 360 points of which 200 among 200,000 are wanted: a multi-get 5 to 8 ms; a
// scan that a regexp filters on the server 301 ms; one that leaps by a fuzzy filter 12 ms; one of everything 840 ms. That a scan takes a millisecond to
// begin is a guess. The hbase engine gives up the fuzzy filter beyond 512 suffixes.
var clusterCosts = kv.Costs{Get: 30, Row: 4.2, Scan: 1000, Suffix: 4.2, Tag: 1.5, Leap: 60, Leaps: 512}

// cellEngine makes a storedEngine of any engine.
type cellEngine struct{ kv.KV }

func storedOf(db kv.KV) storedEngine {
	if e, ok := db.(storedEngine); ok {
		return e
	}
	return cellEngine{db}
}

// Costs implements storedEngine.
func (cellEngine) Costs() kv.Costs { return clusterCosts }

// GetStored implements storedEngine.
func (e cellEngine) GetStored(ctx context.Context, table, family string, keys [][]byte, _ bool, visit func(i int, cells []kv.StoredCell) error) error {
	rows, err := e.Get(ctx, table, family, keys)
	if err != nil {
		return err
	}
	var cells []kv.StoredCell
	for i, row := range rows {
		if len(row.Cells) == 0 {
			continue
		}
		cells = appendStored(cells[:0], row.Cells)
		if err := visit(i, cells); err != nil {
			return err
		}
	}
	return nil
}

// ScanStored implements storedEngine.
func (e cellEngine) ScanStored(ctx context.Context, s kv.Scan, visit func(key []byte, cells []kv.StoredCell) error) error {
	var cells []kv.StoredCell
	for row, err := range e.Scan(ctx, s) {
		if err != nil {
			return err
		}
		cells = appendStored(cells[:0], row.Cells)
		if err := visit(row.Key, cells); err != nil {
			return err
		}
	}
	return nil
}

func appendStored(dst []kv.StoredCell, cells []kv.Cell) []kv.StoredCell {
	for _, c := range cells {
		dst = append(dst, kv.StoredCell{Qualifier: c.Qualifier, Value: c.Value, Time: c.Time})
	}
	return dst
}

package kv

import "context"

// A StoredCell is a cell in the memory of the engine that shows it. An engine that keeps cells in a
// form of its own may show that form in Coded instead of Qualifier and Value; the engine and its
// reader agree on what it means.
type StoredCell struct {
	Coded            []byte
	Qualifier, Value []byte
	Time             int64 // milliseconds, as in Cell
}

// AppendStored appends cells as they are shown.
func AppendStored(dst []StoredCell, cells []Cell) []StoredCell {
	for _, c := range cells {
		dst = append(dst, StoredCell{Qualifier: c.Qualifier, Value: c.Value, Time: c.Time})
	}
	return dst
}

// CellViewer is the RowViewer of any engine: it shows the cells of Get and Scan.
type CellViewer struct{ KV KV }

// GetStored implements RowViewer.
func (v CellViewer) GetStored(
	ctx context.Context, table, family string, keys [][]byte, _ bool, visit func(i int, cells []StoredCell) error,
) error {
	rows, err := v.KV.Get(ctx, table, family, keys)
	if err != nil {
		return err
	}
	var cells []StoredCell
	for i, row := range rows {
		if len(row.Cells) == 0 {
			continue
		}
		cells = AppendStored(cells[:0], row.Cells)
		if err := visit(i, cells); err != nil {
			return err
		}
	}
	return nil
}

// ScanStored implements RowViewer.
func (v CellViewer) ScanStored(ctx context.Context, s Scan, visit func(key []byte, cells []StoredCell) error) error {
	var cells []StoredCell
	for row, err := range v.KV.Scan(ctx, s) {
		if err != nil {
			return err
		}
		cells = AppendStored(cells[:0], row.Cells)
		if err := visit(row.Key, cells); err != nil {
			return err
		}
	}
	return nil
}

package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// maxRollupsFile bounds the file of --storage.rollups, in bytes.
const maxRollupsFile = 1 << 20

// RollupTables returns the configuration of --storage.rollups; nil: there is none.
func (o Options) RollupTables() (*rollup.Config, error) {
	text := []byte(strings.TrimSpace(o.Rollups))
	if len(text) == 0 {
		return nil, nil
	}
	if text[0] != '{' {
		var err error
		if text, err = fsutil.ReadRegularUpTo(string(text), maxRollupsFile); err != nil {
			return nil, fmt.Errorf("--storage.rollups=%s: %w", o.Rollups, err)
		}
	}
	c, err := rollup.ParseConfig(text, aggregate.Exists)
	if err != nil {
		return nil, fmt.Errorf("--storage.rollups: %w", err)
	}
	c.ShareWith(o.TableData)
	for _, name := range c.Tables() {
		if slices.Contains([]string{o.TableData, o.TableUID, o.TableMeta, o.TableTree, o.TableArchive}, name) {
			return nil, fmt.Errorf("--storage.rollups: table %s cannot keep rollups: it has something else", name)
		}
	}
	return c, nil
}

package catalog

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// uidWarnings returns the shares of the UIDs of a kind at which a warning is logged.
func uidWarnings() [3]float64 { return [...]float64{0.5, 0.9, 1} }

// UIDUsage warns when UIDs run out, once for each share.
type UIDUsage struct {
	uids   *uid.Dictionary
	layout schema.Layout
	table  string // of the UIDs
	logger *slog.Logger
	warned [3]atomic.Int32 // by kind: how many of uidWarnings
}

// NewUIDUsage returns a watch on the UIDs of a table.
func NewUIDUsage(uids *uid.Dictionary, layout schema.Layout, table string, logger *slog.Logger) *UIDUsage {
	return &UIDUsage{uids: uids, layout: layout, table: table, logger: logger}
}

// Measure asks the table how many are assigned.
func (u *UIDUsage) Measure(ctx context.Context) {
	if err := u.uids.Measure(ctx); err != nil {
		u.logger.WarnContext(ctx, "the counters of UIDs cannot be read, so nothing warns before they run out; see /-/ready", "table", u.table, "err", err)
		return
	}
	u.Warn()
}

// Warn logs that a kind of UIDs runs out.
func (u *UIDUsage) Warn() {
	for _, kind := range storage.NameKinds() {
		used, warned := u.uids.Used(kind), u.warned[kind].Load()
		reached := int32(0)
		for _, share := range uidWarnings() {
			if used >= share {
				reached++
			}
		}
		if reached > warned && u.warned[kind].CompareAndSwap(warned, reached) {
			u.logger.Warn("UIDs run out: with none left, series with new names are refused; see TsdbridgeUIDsRunOut in docs/monitoring.md", "kind", kind.String(), "used", used,
				"bytes", u.layout.Width(kind), "flag", "--storage.uid-width."+kind.String(), "table", u.table)
		}
	}
}

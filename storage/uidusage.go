package storage

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// uidWarnings are the shares of the UIDs of a kind at which it is said that they run out.
func uidWarnings() [3]float64 { return [...]float64{0.5, 0.9, 1} }

// uidUsage says when UIDs run out, once for each share.
type uidUsage struct {
	said [3]atomic.Int32 // by kind: how many of uidWarnings
}

func (s *Store) showUIDs(reg prometheus.Registerer) {
	for _, kind := range schema.Kinds() {
		promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tsdbridge_store_uid_used_ratio", Help: "Share of the UIDs of a kind that is assigned; at 1 series with new names are refused.",
			ConstLabels: prometheus.Labels{"kind": kind.String()},
		}, func() float64 { return s.uids.Used(kind) })
	}
}

// measureUIDs asks the table how many are assigned.
func (s *Store) measureUIDs(ctx context.Context) {
	if err := s.uids.Measure(ctx); err != nil {
		s.o.Logger.WarnContext(ctx, "counters of uids not read", "table", s.o.Tables.UID, "err", err)
		return
	}
	s.warnUIDs()
}

// warnUIDs logs that a kind of UIDs runs out.
func (s *Store) warnUIDs() {
	for _, kind := range schema.Kinds() {
		used, said := s.uids.Used(kind), s.usage.said[kind].Load()
		reached := int32(0)
		for _, share := range uidWarnings() {
			if used >= share {
				reached++
			}
		}
		if reached > said && s.usage.said[kind].CompareAndSwap(said, reached) {
			s.o.Logger.Warn("uids run out: with none left, series with new names are refused", "kind", kind.String(), "used", used,
				"bytes", s.layout.Width(kind), "flag", "--storage.uid-width."+kind.String(), "table", s.o.Tables.UID)
		}
	}
}

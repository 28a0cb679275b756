package tablecopy

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/archive"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// A range of rolled up values has at least so many rows of each series, and so much time.
const (
	rangeRows    = 64
	rangeSeconds = rangeHours * 3600
)

// rolledRanges returns the next ranges of rolled up values, as pointRanges does for points.
func (r *Reader) rolledRanges(ctx context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	part, err := r.rollups(after.Part)
	if err != nil {
		return nil, err
	}
	metrics, err := r.metrics(ctx, 0, storage.MaxTime) // points may be gone
	if err != nil {
		return nil, err
	}
	return r.gather(metrics, after, func(metric string, from int64) (pipeline.Range, bool, error) {
		return r.nextRolled(ctx, part, metric, from)
	})
}

// nextRolled returns the next range of a metric in a part.
func (r *Reader) nextRolled(ctx context.Context, part rollup.Part, metric string, from int64) (one pipeline.Range, ok bool, err error) {
	uids, err := r.s.Store.Names().Lookup(ctx, storage.MetricName, []string{metric})
	if err != nil || uids[0] == "" {
		return one, false, err
	}
	base, ok, err := r.s.Store.Rollups().First(ctx, part, uids[0], part.Interval.RowStart(uint32(from/1000)))
	if err != nil || !ok || int64(base)*1000 > r.q.End {
		return one, false, err
	}
	one = pipeline.Range{Part: rollupPart(part), Name: metric, From: max(from, int64(base)*1000), To: r.q.End}
	end := base
	for n := 0; end < math.MaxUint32 && (n < rangeRows || end-base < rangeSeconds); n++ {
		end = part.Interval.NextRow(end)
	}
	if end < math.MaxUint32 {
		one.To = min(one.To, int64(end)*1000-1)
	}
	return one, true, nil
}

// rolledValues is about how many values a block of rolled up values has.
const rolledValues = 1 << 16

// readRolled gives the rolled up values of a range.
func (r *Reader) readRolled(ctx context.Context, about pipeline.Range, give func(*Block) error) error {
	part, err := r.rollups(about.Part)
	if err != nil {
		return err
	}
	uids, err := r.s.Store.Names().Lookup(ctx, storage.MetricName, []string{about.Name})
	if err != nil || uids[0] == "" { // it was deleted or renamed
		return err
	}
	var rows []rolledRow
	held := 0
	flush := func() error {
		b, err := r.rolledBlock(ctx, part, rows)
		rows, held = nil, 0
		if err != nil || b.empty() {
			return err
		}
		return give(b)
	}
	from, last := part.Interval.RowStart(uint32(about.From/1000)), uint32(min(about.To/1000, math.MaxUint32))
	for row, err := range r.s.Store.Rollups().Rows(ctx, part, uids[0], from, last) {
		if err != nil {
			return err
		}
		one := rolledRow{tsuid: append([]byte(nil), row.TSUID...), leftOut: row.LeftOut, reason: row.Reason}
		for _, v := range row.Values {
			if v.Time >= about.From && v.Time <= about.To {
				one.values = append(one.values, Rolled{part.Interval.Name, v.Aggregation, !part.Series(), v.Time, v.Point})
			}
		}
		rows = append(rows, one)
		if held += 1 + len(one.values); held >= rolledValues {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// A rolledRow is a row of rolled up values.
type rolledRow struct {
	tsuid   []byte
	values  []Rolled
	leftOut int
	reason  string
}

// rolledBlock returns the values of rows with the names of their series.
func (r *Reader) rolledBlock(ctx context.Context, part rollup.Part, rows []rolledRow) (*Block, error) {
	tsuids := make([][]byte, len(rows))
	for i := range rows {
		tsuids[i] = rows[i].tsuid
	}
	names, err := r.names(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	for _, row := range rows {
		name, ok := names[string(row.tsuid)]
		switch {
		case !ok && r.all():
			b.Lost = append(b.Lost, Loss{fmt.Sprintf("%s: the series with the TSUID %X", part, row.tsuid), "a UID of it has no name"})
			continue
		case !ok || !r.selects(name):
			continue
		case row.leftOut > 0:
			b.Lost = append(b.Lost, Loss{fmt.Sprintf("%s: %d values of %s", part, row.leftOut, name), row.reason})
		}
		if len(row.values) > 0 {
			b.Series = append(b.Series, Series{Name: name, Rolled: row.values})
		}
	}
	return b, nil
}

// names returns the names of series by their TSUIDs. One of which a UID has no name is left out.
func (r *Reader) names(ctx context.Context, tsuids [][]byte) (map[string]storage.Series, error) {
	account := r.s.Budget.Open()
	defer account.Close()
	named, err := r.s.Store.Catalog().NameSeries(query.WithAccount(ctx, account), tsuids)
	if err != nil {
		return nil, err
	}
	names := make(map[string]storage.Series, len(named))
	for _, one := range named {
		names[string(one.TSUID)] = one.Series
	}
	return names, nil
}

// readArchives gives the slots of coarse archives, from the row whose key is the name of the range.
func (r *Reader) readArchives(ctx context.Context, about pipeline.Range, give func(*Block) error) error {
	from, err := hex.DecodeString(about.Name)
	if err != nil {
		return fmt.Errorf("%w: range of archives from %q", storage.ErrInvalid, about.Name)
	}
	var rows []archive.SeriesSlots
	held := 0
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		b, err := r.archivesBlock(ctx, rows)
		if err != nil {
			return err
		}
		rest := about
		rest.Name = hex.EncodeToString(append(rows[len(rows)-1].Key, 0))
		b.Rest = &rest
		rows, held = nil, 0
		return give(b)
	}
	err = r.s.Store.Archives().Each(ctx, from, func(row archive.SeriesSlots) error {
		rows = append(rows, row)
		held++
		for i := range row.Slots {
			held += len(row.Slots[i].Times)
		}
		if held < rolledValues {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// archivesBlock returns the slots of rows with the names of their series. Rows of one series become one.
func (r *Reader) archivesBlock(ctx context.Context, rows []archive.SeriesSlots) (*Block, error) {
	var tsuids [][]byte
	for i := range rows {
		if rows[i].TSUID != nil {
			tsuids = append(tsuids, rows[i].TSUID)
		}
	}
	names, err := r.names(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	for i := range rows {
		row := &rows[i]
		name, ok := names[string(row.TSUID)]
		if row.Bad != nil {
			b.Lost = append(b.Lost, Loss{"archives", row.Bad.Error()})
		} else if !ok && r.all() {
			b.Lost = append(b.Lost, Loss{fmt.Sprintf("archives of the series with the TSUID %X", row.TSUID), "a UID of it has no name"})
		}
		if !ok || !r.selects(name) {
			continue
		}
		one := Series{Name: name}
		for n := range row.Slots {
			if slots := r.slotsOf(&row.Slots[n]); len(slots.Times) > 0 {
				one.Slots = append(one.Slots, slots)
			}
		}
		if len(one.Slots) > 0 {
			b.Series = append(b.Series, one)
		}
	}
	return b, nil
}

// slotsOf returns the slots that begin in the time of the query.
func (r *Reader) slotsOf(s *storage.ArchiveSlots) storage.ArchiveSlots {
	kept := storage.ArchiveSlots{Step: s.Step}
	for i, t := range s.Times {
		if t*1000 >= r.q.Start && t*1000 <= r.q.End {
			kept.Times, kept.Values = append(kept.Times, t), append(kept.Values, s.Values[i])
		}
	}
	return kept
}

package tsdtext

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// ExportRollups are the rolled up values of a store, row by row.
type ExportRollups interface {
	Config() *rollup.Config
	First(ctx context.Context, p rollup.Part, metric string, from uint32) (base uint32, ok bool, err error)
	Rows(ctx context.Context, p rollup.Part, metric string, from, to uint32) iter.Seq2[rollup.SeriesRow, error]
	Filled(ctx context.Context) (tables []string, err error)
}

// A range of rolled up values has at least so many rows of each series, and so much time.
const (
	rangeRows    = 64
	rangeSeconds = rangeHours * 3600
)

// rolledRanges returns the next ranges of rolled up values: table by table, and of each one as Ranges does for points.
func (x *Exporter) rolledRanges(ctx context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	parts := x.rolled
	if after.Part != "" {
		at := slices.IndexFunc(parts, func(p rollup.Part) bool { return p.String() == after.Part })
		if at < 0 {
			return nil, x.errNoPart(after.Part)
		}
		parts = parts[at:]
	}
	if len(parts) == 0 {
		return nil, nil
	}
	metrics, err := x.metrics(ctx, 0, storage.MaxTime) // points may be gone
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if part.String() != after.Part {
			after = pipeline.Range{}
		}
		ranges, err := x.gather(metrics, after, nil, func(metric string, from int64) (pipeline.Range, bool, error) {
			return x.nextRolled(ctx, part, metric, from)
		})
		if err != nil || len(ranges) > 0 {
			return ranges, err
		}
	}
	return nil, nil
}

func (x *Exporter) errNoPart(name string) error {
	return fmt.Errorf("%w: there are no rolled up values %q: have --storage.rollups or --with changed?", storage.ErrInvalid, name)
}

// nextRolled returns the next range of a metric in a part.
func (x *Exporter) nextRolled(ctx context.Context, part rollup.Part, metric string, from int64) (r pipeline.Range, ok bool, err error) {
	uids, err := x.o.Names.Lookup(ctx, storage.MetricName, []string{metric})
	if err != nil || uids[0] == "" {
		return r, false, err
	}
	base, ok, err := x.o.Rollups.First(ctx, part, uids[0], part.Interval.RowStart(uint32(from/1000)))
	if err != nil || !ok || int64(base)*1000 > x.q.End {
		return r, false, err
	}
	r = pipeline.Range{Part: part.String(), Name: metric, From: max(from, int64(base)*1000), To: x.q.End}
	end := base
	for n := 0; end < math.MaxUint32 && (n < rangeRows || end-base < rangeSeconds); n++ {
		end = part.Interval.NextRow(end)
	}
	if end < math.MaxUint32 {
		r.To = min(r.To, int64(end)*1000-1)
	}
	return r, true, nil
}

// readRolled gives the rolled up values of a range, some rows of each series at a time.
func (x *Exporter) readRolled(ctx context.Context, r pipeline.Range, give func(pipeline.Block) error) error {
	at := slices.IndexFunc(x.rolled, func(p rollup.Part) bool { return p.String() == r.Part })
	if at < 0 {
		return x.errNoPart(r.Part)
	}
	part := x.rolled[at]
	uids, err := x.o.Names.Lookup(ctx, storage.MetricName, []string{r.Name})
	if err != nil {
		return err
	}
	if uids[0] == "" { // it was deleted or renamed
		return give(pipeline.Block{Until: r.To + 1})
	}
	w := &rolledWriter{
		Exporter: x, part: part, metric: uids[0], in: r, give: give, names: map[string]*rolledName{},
		line: exportLine{rules: putline.NameRules{MaxTags: storage.MaxTags, SpecialChars: x.o.SpecialChars}},
	}
	rows := 1
	for from := part.Interval.RowStart(uint32(r.From / 1000)); r.From <= r.To; {
		last := from
		for range rows - 1 {
			last = part.Interval.NextRow(last)
		}
		next := part.Interval.NextRow(last)
		end := r.To
		if next < math.MaxUint32 {
			end = min(end, int64(next)*1000-1)
		}
		w.count = 0
		if err := w.window(ctx, from, last); err != nil {
			return err
		}
		if err := give(pipeline.Block{Until: end + 1}); err != nil {
			return err
		}
		switch {
		case w.count > x.windowPoints:
			rows = max(1, rows/2)
		case w.count < x.windowPoints/4:
			rows = min(4*rows, rangeRows)
		}
		from, r.From = next, end+1
	}
	return nil
}

// A rolledWriter writes the values of a range.
type rolledWriter struct {
	*Exporter
	part   rollup.Part
	metric string // its UID
	in     pipeline.Range
	give   func(pipeline.Block) error
	names  map[string]*rolledName // by TSUID

	rows  []rolledRow // that are not written yet
	held  int         // values of these
	block pipeline.Block
	line  exportLine
	count int64 // of values that were given
}

// A rolledRow is a row that waits for the names of its series.
type rolledRow struct {
	tsuid   string
	values  []rollup.MadeValue
	leftOut int
	reason  string
}

// Bounds of what a rolledWriter holds: values of rows, and names.
const (
	rolledValues = 1 << 16
	rolledNames  = 1 << 16
)

// window writes the rows that begin from one time to another, seconds.
func (w *rolledWriter) window(ctx context.Context, from, last uint32) error {
	for row, err := range w.o.Rollups.Rows(ctx, w.part, w.metric, from, last) {
		if err != nil {
			return err
		}
		one := rolledRow{tsuid: string(row.TSUID), leftOut: row.LeftOut, reason: row.Reason}
		for _, v := range row.Values {
			if v.Time >= w.in.From && v.Time <= w.in.To {
				one.values = append(one.values, v)
			}
		}
		w.rows = append(w.rows, one)
		if w.held += 1 + len(one.values); w.held >= rolledValues {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return w.flush(ctx)
}

// flush gives the rows that wait.
func (w *rolledWriter) flush(ctx context.Context) error {
	if err := w.name(ctx); err != nil {
		return err
	}
	w.block = pipeline.Block{Text: w.block.Text[:0]}
	for i := range w.rows {
		w.write(&w.rows[i])
		if len(w.block.Text) >= givenText {
			if err := w.giveBlock(); err != nil {
				return err
			}
		}
	}
	clear(w.rows)
	w.rows, w.held = w.rows[:0], 0
	return w.giveBlock()
}

func (w *rolledWriter) giveBlock() error {
	w.count += w.block.Points
	if w.block.Points == 0 && w.block.LeftOut == 0 {
		return nil
	}
	err := w.give(w.block)
	w.block = pipeline.Block{Text: w.block.Text[:0]}
	return err
}

// write writes the values of a row.
func (w *rolledWriter) write(row *rolledRow) {
	s := w.names[row.tsuid]
	if s.skipped {
		return
	}
	w.leaveOut(s, row.leftOut, row.reason)
	if s.reason != "" {
		w.leaveOut(s, len(row.values), s.reason)
		return
	}
	for i := range row.values {
		v := &row.values[i]
		value, ok := appendRolled(w.line.value[:0], v.Point)
		w.line.value = value
		switch {
		case !ok:
			w.leaveOut(s, 1, "it is not a finite number")
		case v.Time%1000 != 0:
			w.leaveOut(s, 1, "rolled up values have whole seconds")
		default:
			w.block.Text = s.appendLine(w.block.Text, w.part, v, value)
			w.block.Points++
		}
	}
}

func (w *rolledWriter) leaveOut(s *rolledName, values int, reason string) {
	if values > 0 && w.block.LeftOut == 0 {
		w.block.Reason = s.shown + ", " + w.part.String() + ": " + reason
	}
	w.block.LeftOut += int64(values)
}

// A rolledName is what the lines of a series have in common.
type rolledName struct {
	before, after, group string
	shown                string
	skipped              bool   // it is not exported
	reason               string // why it has no lines, if it has none
}

// name finds the names of the series of the rows.
func (w *rolledWriter) name(ctx context.Context) error {
	if len(w.names) >= rolledNames {
		clear(w.names)
	}
	var unknown [][]byte
	for _, row := range w.rows {
		if w.names[row.tsuid] == nil {
			w.names[row.tsuid] = &rolledName{shown: fmt.Sprintf("TSUID %x", row.tsuid), reason: "a UID of it has no name"}
			unknown = append(unknown, []byte(row.tsuid))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	named, err := w.o.Catalog.NameSeries(ctx, unknown)
	if err != nil {
		for _, tsuid := range unknown {
			delete(w.names, string(tsuid))
		}
		return err
	}
	for _, one := range named {
		w.names[string(one.TSUID)] = w.nameOf(one.Series)
	}
	return nil
}

// nameOf returns what the lines of a series have in common.
func (w *rolledWriter) nameOf(s storage.Series) *rolledName {
	n := &rolledName{shown: exportName(s)}
	if !slices.ContainsFunc(w.matches, func(m query.Match) bool { return m.Selects(s) }) {
		n.skipped = true
		return n
	}
	if w.part.Groups() {
		if at := putline.TagIndex(s.Tags, w.o.RollupTag); at >= 0 {
			if _, ok := aggregate.Get(strings.ToLower(s.Tags[at].Value)); ok {
				n.group = s.Tags[at].Value
			}
		}
		if n.group == "" && !w.part.Series() {
			n.reason = "no tag " + w.o.RollupTag + " tells the aggregator of its group"
			return n
		}
	}
	if err := w.line.of(s); err != nil {
		n.reason = err.Error()
		return n
	}
	n.before, n.after = string(w.line.before), string(w.line.after)
	return n
}

// appendLine appends the line of a value: "rollup interval-aggregation:group metric timestamp value tag=value ...".
func (n *rolledName) appendLine(b []byte, part rollup.Part, v *rollup.MadeValue, value []byte) []byte {
	b = append(append(b, rollupWord...), ' ')
	if !part.Interval.Default {
		b = append(append(append(b, part.Interval.Name...), '-'), v.Aggregation...)
		if n.group != "" {
			b = append(b, ':')
		}
	}
	b = append(append(append(b, n.group...), ' '), n.before...)
	b = append(append(appendStamp(b, v.Time), ' '), value...)
	return append(b, n.after...)
}

// appendRolled appends a value so that it is stored in the same bytes again; ok is false if it has no text.
func appendRolled(b []byte, p schema.Point) (text []byte, ok bool) {
	if p.IsInt() {
		return appendInteger(b, p.Int()), true
	}
	short, ok := schema.FloatPoint(0, p.Float(), schema.ValuesAuto)
	if !ok {
		return b, false
	}
	b = appendFloat(b, math.Float64bits(p.Float()))
	if short.Flags != p.Flags {
		b = append(b, put.DoubleSuffix...)
	}
	return b, true
}

// Behind tells what the store has that an ExportQuery without it leaves behind, if that is cheap to know; "": nothing.
func (x *Exporter) Behind(ctx context.Context) (string, error) {
	if x.o.Rollups == nil || len(x.rolled) > 0 {
		return "", nil
	}
	tables, err := x.o.Rollups.Filled(ctx)
	if err != nil || len(tables) == 0 {
		return "", err
	}
	return "the rolled up values of " + strings.Join(tables, ", ") + " were not exported: --with=" + WithRollups, nil
}

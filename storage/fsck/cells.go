package fsck

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// flawKinds are the kinds of findings that flaws of readable cells are.
var flawKinds = []struct {
	flaw schema.Flaws
	kind Kind
}{
	{schema.FlawFloatLength, FloatLength},
	{schema.FlawValueLength, ValueLength},
	{schema.FlawTrailer, BadTrailer},
	{schema.FlawOrder, Unsorted},
	{schema.FlawReserved, ReservedBits},
	{schema.FlawMistaken, MistakenCell},
	{schema.FlawOutside, OutsideHour},
	{schema.FlawLongInteger, LongInteger},
}

// keyKinds are the kinds of findings that flaws of row keys are.
var keyKinds = []struct {
	flaw schema.Flaws
	kind Kind
}{
	{schema.FlawKeyLength, BadKey},
	{schema.FlawNoTags, NoTags},
	{schema.FlawZeroUID, BadTags},
	{schema.FlawTagOrder, BadTags},
	{schema.FlawBaseTime, BadBaseTime},
	{schema.FlawSalt, WrongSalt},
}

// dataRow checks a row of the data table. It knows it all but the names of its UIDs.
type dataRow struct {
	findings
	layout schema.Layout
	id     schema.RowKey

	instants []instant // samples of all cells
	points   []schema.Point
	objects  []own.Object
}

// An instant is where a sample of a row stands.
type instant struct {
	offset uint32 // milliseconds
	cell   int
}

// checkDataRow returns what is wrong with a row of the data table.
func checkDataRow(l schema.Layout, table string, row kv.Row) *dataRow {
	r := &dataRow{findings: findings{table: table, key: row.Key}, layout: l}
	id, flaws := l.CheckRowKey(row.Key)
	r.id = id
	for _, k := range keyKinds {
		if flaws&k.flaw != 0 {
			r.add(k.kind, 1, "%v", k.flaw)
		}
	}
	if flaws&schema.FlawKeyLength != 0 {
		return r
	}
	for i, c := range row.Cells {
		r.cell(i, c)
	}
	r.duplicates(row.Cells)
	return r
}

// cell checks a cell.
func (r *dataRow) cell(i int, c kv.Cell) {
	switch kind := schema.ClassifyCell(c.Qualifier); kind {
	case schema.CellData, schema.CellAppend:
		r.pointCell(i, c, kind)
	case schema.CellObject:
		r.objectCell(i, c)
	case schema.CellAges:
		if _, err := own.DecodeAges(nil, c.Qualifier, c.Value); err != nil {
			r.add(BadAges, 1, "%v", err)
		}
	case schema.CellAnnotation:
		r.annotation(c)
	case schema.CellHistogram:
		r.within(c)
	case schema.CellUnknown:
		if n := len(c.Qualifier); n == 3 || n == 5 {
			r.add(UnknownCell, 1, "cell %x of %d bytes", c.Qualifier, len(c.Value))
		} else {
			r.add(BadQualifier, 1, "cell %s: a qualifier of %d bytes", short(c.Qualifier), n)
		}
	}
}

func (r *dataRow) pointCell(i int, c kv.Cell, kind schema.CellKind) {
	var flaws schema.Flaws
	var err error
	check := func(dst []schema.Point) ([]schema.Point, schema.Flaws, error) {
		return schema.CheckData(dst, c.Qualifier, c.Value)
	}
	if kind == schema.CellAppend {
		check = func(dst []schema.Point) ([]schema.Point, schema.Flaws, error) {
			return schema.CheckAppend(dst, c.Value)
		}
	}
	if r.points, flaws, err = check(r.points[:0]); err != nil {
		r.add(unreadable(kind, c.Qualifier), 1, "%v", err)
		return
	}
	if kind == schema.CellAppend {
		if flaws&(schema.FlawOrder|schema.FlawTwice) != 0 {
			r.add(UntidyAppend, 1, "append cell of %d points: %v", len(r.points), flaws&(schema.FlawOrder|schema.FlawTwice))
		}
		r.points, _ = schema.DecodeAppend(r.points[:0], c.Value) // each instant once, as every reader reads it
		flaws &^= schema.FlawOrder | schema.FlawTwice
	}
	for _, k := range flawKinds {
		if flaws&k.flaw != 0 {
			r.add(k.kind, r.count(k.flaw), "cell %s = %s: %v", short(c.Qualifier), short(c.Value), k.flaw)
		}
	}
	for _, p := range r.points {
		r.instants = append(r.instants, instant{p.Offset, i})
	}
}

// count returns how many points have a flaw; flaws of a cell count once.
func (r *dataRow) count(flaw schema.Flaws) (n int) {
	for _, p := range r.points {
		if flaw == schema.FlawLongInteger && p.Shortest() != p || flaw == schema.FlawOutside && p.Offset >= hourMillis {
			n++
		}
	}
	return max(n, 1)
}

const hourMillis = schema.RowSeconds * 1000

// unreadable returns the kind of a cell of points that cannot be read.
func unreadable(kind schema.CellKind, qualifier []byte) Kind {
	switch {
	case kind == schema.CellAppend:
		return BadAppend
	case schema.IsSingle(qualifier):
		return BadValue
	}
	return BadCompacted
}

func (r *dataRow) objectCell(i int, c kv.Cell) {
	var err error
	if r.objects, err = own.DecodeObjects(r.objects[:0], c.Qualifier, c.Value); err != nil {
		r.add(BadObject, 1, "%v", err)
		return
	}
	for _, o := range r.objects {
		if o.Kind.IsSample() {
			r.instants = append(r.instants, instant{o.Offset, i})
		}
	}
}

// annotation checks an annotation: what it is about, and where it is.
func (r *dataRow) annotation(c kv.Cell) {
	if !r.within(c) {
		return
	}
	a, err := schema.ParseAnnotation(c.Value)
	if err != nil {
		r.add(BadAnnotation, 1, "cell %x: %v", c.Qualifier, err)
		return
	}
	tsuid := ""
	if !r.id.IsGlobal() {
		tsuid = schema.FormatTSUID(r.id.AppendTSUID(nil))
	}
	if !strings.EqualFold(a.TSUID, tsuid) {
		r.add(LostAnnotation, 1, "cell %x: it is of series %.100q", c.Qualifier, a.TSUID)
		return
	}
	if a.Start < 1 || schema.Base(schema.MillisOf(a.Start)) != r.id.Base {
		r.add(LostAnnotation, 1, "cell %x: it begins at %d", c.Qualifier, a.Start)
	}
}

// within reports whether an annotation or a histogram is within the hour.
func (r *dataRow) within(c kv.Cell) bool {
	offset, _ := schema.ForeignOffset(c.Qualifier)
	if offset >= hourMillis {
		r.add(OutsideHour, 1, "cell %x", c.Qualifier)
		return false
	}
	return true
}

// duplicates finds instants that stand in the row several times.
func (r *dataRow) duplicates(cells []kv.Cell) {
	if !slices.IsSortedFunc(r.instants, byOffset) {
		slices.SortStableFunc(r.instants, byOffset)
	}
	for i := 1; i < len(r.instants); i++ {
		if a, b := r.instants[i-1], r.instants[i]; a.offset == b.offset {
			r.add(Duplicate, 1, "%s in %s and in %s", offsetText(a.offset), cellText(cells[a.cell]), cellText(cells[b.cell]))
		}
	}
}

func byOffset(a, b instant) int { return cmp.Compare(a.offset, b.offset) }

func offsetText(offset uint32) string {
	return fmt.Sprintf("%d:%02d.%03d", offset/60_000, offset/1000%60, offset%1000)
}

func cellText(c kv.Cell) string {
	return fmt.Sprintf("cell %s written at %d", short(c.Qualifier), c.Time)
}

// short prints the first bytes of a qualifier or a value.
func short(b []byte) string {
	const most = 16
	if len(b) <= most {
		return hex.EncodeToString(b)
	}
	return fmt.Sprintf("%x… (%d bytes)", b[:most], len(b))
}

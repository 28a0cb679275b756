package documents

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// SeriesMeta returns the document of a series with those of its UIDs; false if it has none.
func (d *Documents) SeriesMeta(ctx context.Context, tsuid []byte) (m schema.SeriesMeta, ok bool, err error) {
	rows, err := d.db.Get(ctx, d.o.Tables.Meta, schema.FamilyMeta, [][]byte{tsuid})
	if err != nil {
		return m, false, fmt.Errorf("read the document of %x: %w", tsuid, err)
	}
	if valueOf(rows[0], schema.MetaQualifier()) == nil || d.layout.CheckSeries(tsuid) != nil {
		return m, false, nil
	}
	list, missing, err := d.seriesMetas(ctx, rows)
	if err != nil {
		return m, false, err
	}
	if len(list) == 0 {
		return m, false, missing
	}
	return list[0], true, nil
}

// SeriesMetas returns the documents of a metric's series that have all of some tags, in the order of
// their TSUIDs. Series of which a UID has no name are left out. More than most are an ErrLimit; 0: no
// limit.
func (d *Documents) SeriesMetas(ctx context.Context, metric string, tags []schema.Pair, most int) ([]schema.SeriesMeta, error) {
	l := d.layout
	scan := kv.Scan{Table: d.o.Tables.Meta, Family: schema.FamilyMeta, Start: []byte(metric), Stop: after(metric)}
	match := kv.Match{Prefix: l.MetricWidth, Key: l.TagkWidth, Value: l.TagvWidth}
	for _, pair := range tags {
		match.Tags = append(match.Tags, kv.Tag{Key: pair.Key, Values: [][]byte{pair.Value}})
	}
	scan.Match = &match
	var found []schema.SeriesMeta
	var rows []kv.Row
	take := func() error {
		list, _, err := d.seriesMetas(ctx, rows)
		found, rows = append(found, list...), rows[:0]
		return err
	}
	for row, err := range d.db.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("read the documents of series: %w", err)
		}
		if valueOf(row, schema.MetaQualifier()) == nil || l.CheckSeries(row.Key) != nil {
			continue
		}
		if rows = append(rows, row); most > 0 && len(found)+len(rows) > most {
			return nil, fmt.Errorf("%w: more than %d series", storage.ErrLimit, most)
		}
		if len(rows) == metaRowsPerGet {
			if err := take(); err != nil {
				return nil, err
			}
		}
	}
	return found, take()
}

// after returns the first key after all keys with a prefix; nil: there is none.
func after(prefix string) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xFF {
			return append([]byte(prefix[:i]), prefix[i]+1)
		}
	}
	return nil
}

// uidList are UIDs of a kind, each once.
type uidList struct {
	uids []string
	at   map[string]int
}

func (l *uidList) number(uid []byte) int {
	n, ok := l.at[string(uid)]
	if !ok {
		if l.at == nil {
			l.at = map[string]int{}
		}
		n = len(l.uids)
		l.uids = append(l.uids, string(uid))
		l.at[string(uid)] = n
	}
	return n
}

// seriesMetas returns the documents of rows that have one. The series of which a UID has no name are
// left out; missing is such a UID.
func (d *Documents) seriesMetas(ctx context.Context, rows []kv.Row) (list []schema.SeriesMeta, missing, err error) {
	var lists [3]uidList
	uses := make([][]int, len(rows)) // by row: metric, key, value, key, value...
	for i, row := range rows {
		metric, tags, err := d.layout.ParseTSUID(row.Key)
		if err != nil {
			return nil, nil, err
		}
		uses[i] = []int{lists[storage.MetricName].number(metric)}
		for key, value := range d.layout.Pairs(tags) {
			uses[i] = append(uses[i], lists[storage.TagKeyName].number(key), lists[storage.TagValueName].number(value))
		}
	}
	var metas [3][]schema.NamedUIDMeta
	for _, kind := range storage.NameKinds() {
		if metas[kind], err = d.uidMetas(ctx, kind, lists[kind].uids); err != nil {
			return nil, nil, err
		}
	}
	for i, row := range rows {
		m := schema.SeriesMeta{Metric: metas[storage.MetricName][uses[i][0]]}
		for n, use := range uses[i][1:] {
			m.Tags = append(m.Tags, metas[storage.TagKeyName+storage.NameKind(n%2)][use])
		}
		if err := nameless(&m); err != nil {
			missing = err
			continue
		}
		if err := d.readSeriesMeta(&m, row); err != nil {
			return nil, nil, err
		}
		list = append(list, m)
	}
	return list, missing, nil
}

// nameless returns the error of a UID without a name.
func nameless(m *schema.SeriesMeta) error {
	if m.Metric.Name == "" {
		return storage.NoNameOfUIDError{Kind: storage.MetricName, UID: m.Metric.UID}
	}
	for i := range m.Tags {
		if m.Tags[i].Name == "" {
			return storage.NoNameOfUIDError{Kind: m.Tags[i].Kind, UID: m.Tags[i].UID}
		}
	}
	return nil
}

// readSeriesMeta reads what a row of tsdb-meta has.
func (d *Documents) readSeriesMeta(m *schema.SeriesMeta, row kv.Row) (err error) {
	for _, c := range row.Cells {
		switch string(c.Qualifier) {
		case string(schema.MetaQualifier()):
			if m.TSMeta, err = d.parseTSMeta(row.Key, c.Value); err != nil {
				return fmt.Errorf("document of the series %x: %w", row.Key, err)
			}
		case string(schema.CounterQualifier()):
			m.Points, _ = schema.DecodeCounter(c.Value) // 0: a TSD cannot read it either
			m.LastReceived = c.Time / 1000
		}
	}
	if m.TSUID == "" {
		m.TSUID = schema.FormatTSUID(row.Key)
	}
	return nil
}

// EditSeriesMeta changes the document of a series, durably. What was not sent stays, or becomes empty
// if the edit replaces. Without a document it returns ErrNoDocument. No edit of others at the same time
// is lost.
func (d *Documents) EditSeriesMeta(ctx context.Context, tsuid []byte, e *schema.TSMetaEdit, replace bool) error {
	return d.editSeriesMeta(ctx, tsuid, func(raw []byte) ([]byte, error) {
		if raw == nil {
			return nil, ErrNoDocument
		}
		stored, err := d.parseTSMeta(tsuid, raw)
		if err != nil {
			return nil, err
		}
		if stored.TSUID == "" {
			stored.TSUID = schema.FormatTSUID(tsuid)
		}
		return e.Apply(stored, replace).AppendTo(nil), nil
	})
}

func (d *Documents) editSeriesMeta(ctx context.Context, tsuid []byte, change func(raw []byte) ([]byte, error)) error {
	if err := d.named(ctx, tsuid); err != nil {
		return err
	}
	err := d.edit(ctx, kv.Column{Table: d.o.Tables.Meta, Family: schema.FamilyMeta, Row: tsuid, Qualifier: schema.MetaQualifier()}, change)
	switch {
	case errors.Is(err, ErrNoDocument):
		return err
	case err != nil:
		return fmt.Errorf("document of the series %x: %w", tsuid, err)
	}
	return d.flush(ctx, string(tsuid[:d.layout.MetricWidth]))
}

// named returns an error if a UID of a series has no name.
func (d *Documents) named(ctx context.Context, tsuid []byte) error {
	metric, tags, err := d.layout.ParseTSUID(tsuid)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	uids := [3][]string{storage.MetricName: {string(metric)}}
	for key, value := range d.layout.Pairs(tags) {
		uids[storage.TagKeyName], uids[storage.TagValueName] = append(uids[storage.TagKeyName], string(key)), append(uids[storage.TagValueName], string(value))
	}
	for _, kind := range storage.NameKinds() {
		names, err := d.uids.Names(ctx, kind, uids[kind])
		if err != nil {
			return err
		}
		for i, name := range names {
			if name == "" {
				return storage.NoNameOfUIDError{Kind: kind, UID: uids[kind][i]}
			}
		}
	}
	return nil
}

// CreateSeriesMeta gives a series of known names a document with the edit, durably, and a row of
// tsdb-meta that counts no points, if it has none. If it has a document the edit changes that.
func (d *Documents) CreateSeriesMeta(ctx context.Context, tsuid []byte, e *schema.TSMetaEdit, replace bool) error {
	if err := d.layout.CheckSeries(tsuid); err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	if err := d.named(ctx, tsuid); err != nil {
		return err
	}
	id, _, err := d.index.Add(tsuid)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	if err := d.o.Registrar.Create(ctx, []index.ID{id}); err != nil {
		return err
	}
	return d.editSeriesMeta(ctx, tsuid, func(raw []byte) ([]byte, error) {
		stored := schema.NewTSMeta(tsuid, 0)
		if raw != nil {
			if stored, err = d.parseTSMeta(tsuid, raw); err != nil {
				return nil, err
			}
		}
		return e.Apply(stored, replace).AppendTo(nil), nil
	})
}

// HasSeriesMeta reports whether a series has a document.
func (d *Documents) HasSeriesMeta(ctx context.Context, tsuid []byte) (bool, error) {
	rows, err := d.db.Get(ctx, d.o.Tables.Meta, schema.FamilyMeta, [][]byte{tsuid})
	if err != nil {
		return false, fmt.Errorf("read the document of %x: %w", tsuid, err)
	}
	return valueOf(rows[0], schema.MetaQualifier()) != nil, nil
}

// DeleteSeriesMeta deletes the document of a series, durably. That nothing is there is no error. The
// row of the series stays, because it tells that the series exists.
func (d *Documents) DeleteSeriesMeta(ctx context.Context, tsuid []byte) error {
	rows, err := d.db.Get(ctx, d.o.Tables.Meta, schema.FamilyMeta, [][]byte{tsuid})
	if err != nil {
		return fmt.Errorf("read the document of %x: %w", tsuid, err)
	}
	gone := kv.Mutation{Key: tsuid, Deletes: []kv.Delete{{Qualifier: schema.MetaQualifier()}}}
	switch {
	case valueOf(rows[0], schema.MetaQualifier()) == nil:
		return nil
	case d.db.Exclusive && valueOf(rows[0], schema.CounterQualifier()) == nil:
		gone.Puts = []kv.Put{{Qualifier: schema.CounterQualifier(), Value: schema.EncodeCounter(0)}}
	}
	if err := d.db.Apply(ctx, d.o.Tables.Meta, schema.FamilyMeta, []kv.Mutation{gone}); err != nil {
		return fmt.Errorf("delete the document of %x: %w", tsuid, err)
	}
	return nil
}

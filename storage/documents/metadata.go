package documents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// Keys in the custom map of a metric's UIDMeta document.
const (
	customType = "type"
	customUnit = "unit"
)

// metaBytes is what the metadata of a metric take in an answer, by estimate.
const metaBytes = 256

// metadata are those of metrics, which lie in their UIDMeta.
type metadata struct {
	*cells
	uids   *uid.Dictionary
	layout schema.Layout
	meta   metadataCache
}

// metadataCache is the metadata of metrics by name, as far as it was read or written.
type metadataCache struct {
	editing sync.Mutex // held while a document changes and what is known of it

	mu      sync.Mutex // guards all below
	known   map[string]storage.Metadata
	checked time.Time // when all of it was read; zero: never
	forgot  int       // how often all was forgotten
}

// moment returns what tells whether all was forgotten since. It is taken before metrics are looked up.
func (c *metadataCache) moment() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forgot
}

func (c *metadataCache) get(metric string) (storage.Metadata, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.known[metric]
	return m, ok
}

// put notes metadata unless all was forgotten since a moment.
func (c *metadataCache) put(metric string, m storage.Metadata, moment int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgot != moment {
		return
	}
	if c.known == nil {
		c.known = map[string]storage.Metadata{}
	}
	c.known[metric] = m
}

// edited notes what a document holds after an edit, perhaps nothing.
func (c *metadataCache) edited(metric string, m storage.Metadata, moment int) {
	if m != (storage.Metadata{}) {
		c.put(metric, m, moment)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, metric)
}

// edit begins a change of a document, and returns what ends it. Where nobody else edits documents one
// is changed at a time: what is known of them is not read again.
func (c *metadataCache) edit(alone bool) (end func()) {
	if !alone {
		return func() {}
	}
	c.editing.Lock()
	return c.editing.Unlock
}

// forget has everything read and written again: a metric has another UID.
func (c *metadataCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.checked = nil, time.Time{}
	c.forgot++
}

// PutMetadata keeps metadata by metric name, in the metrics' UIDMeta documents: help as
// description, type and unit in the custom map; everything else in a document stays as it is. The
// newest wins, but a type alone takes no text away. A document that cannot be read stays as it is, and
// is told of. It returns when all of it is durable.
func (t *metadata) PutMetadata(ctx context.Context, metadata map[string]storage.Metadata) error {
	var changed []string
	moment := t.meta.moment()
	for metric, m := range metadata {
		if known, ok := t.meta.get(metric); !ok || known != m && !m.TellsLess(known) {
			changed = append(changed, metric)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	uids, errs, err := t.o.Registrar.AssignMetrics(ctx, changed)
	if err != nil {
		return err
	}
	for i, metric := range changed {
		if errs != nil && errs[i] != nil {
			return fmt.Errorf("metadata of %s: %w", metric, errs[i])
		}
		err := t.keepMetadata(ctx, uids[i], metric, metadata[metric], moment)
		if errors.Is(err, storage.ErrUnreadable) {
			continue // it stays for whoever mends it, and holds no points back; the log tells
		}
		if err != nil {
			return fmt.Errorf("metadata of %s: %w", metric, err)
		}
	}
	return t.flush(ctx, uids[0])
}

func (t *metadata) keepMetadata(ctx context.Context, uid, metric string, m storage.Metadata, moment int) error {
	defer t.meta.edit(t.db.Exclusive)()
	kept, err := t.putMetadata(ctx, uid, m)
	if err != nil {
		return err
	}
	t.meta.put(metric, kept, moment)
	return nil
}

// metadataAttempts is how often an edit is tried against others who edit the same document.
const metadataAttempts = 5

// putMetadata returns what is kept then.
func (t *metadata) putMetadata(ctx context.Context, uid string, m storage.Metadata) (kept storage.Metadata, err error) {
	column := kv.Column{Table: t.o.Tables.UID, Family: schema.FamilyName, Row: []byte(uid), Qualifier: schema.UIDMetaQualifier(storage.MetricName)}
	for range metadataAttempts {
		raw, document, err := t.readUIDMeta(ctx, column)
		if err != nil {
			return m, err
		}
		if known := metadataOf(document); raw != nil && (known == m || m.TellsLess(known)) {
			return known, nil
		}
		document.Description = m.Help
		document.Custom = document.Custom.With(customType, m.Type).With(customUnit, m.Unit)
		// A TSD compares the raw bytes too, so neither loses the other's edit.
		if done, err := t.db.CheckAndPut(ctx, column, raw, document.AppendTo(nil)); err != nil || done {
			return m, err
		}
	}
	return m, fmt.Errorf("UIDMeta of %x was edited by others %d times in a row", uid, metadataAttempts)
}

// readUIDMeta returns the stored document and its bytes, nil and a fresh document when there is
// none.
func (t *metadata) readUIDMeta(ctx context.Context, c kv.Column) ([]byte, schema.UIDMeta, error) {
	rows, err := t.db.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
	if err != nil {
		return nil, schema.UIDMeta{}, err
	}
	for _, cell := range rows[0].Cells {
		if string(cell.Qualifier) == string(c.Qualifier) {
			document, err := t.parseUIDMeta(storage.MetricName, c.Row, cell.Value)
			return cell.Value, document, err
		}
	}
	return nil, schema.UIDMeta{Type: "METRIC", Created: t.o.Now().Unix()}, nil
}

// flush makes earlier check-and-puts durable: they need not be before the next Apply. It writes
// nothing that is not there.
func (s *cells) flush(ctx context.Context, uid string) error {
	if !s.o.DB.Exclusive {
		return nil // a cluster's are durable by themselves
	}
	none := kv.Mutation{Key: []byte(uid), Deletes: []kv.Delete{{Qualifier: []byte("tsdbridge.flush")}}}
	return s.db.Apply(ctx, s.o.Tables.UID, schema.FamilyName, []kv.Mutation{none})
}

func metadataOf(document schema.UIDMeta) storage.Metadata {
	return storage.Metadata{Type: document.Custom.Get(customType), Help: document.Description, Unit: document.Custom.Get(customUnit)}
}

// Metadata returns what is known of metrics, by name. It is at most IndexRefresh old.
func (t *metadata) Metadata(ctx context.Context) (map[string]storage.Metadata, error) {
	c := &t.meta
	c.mu.Lock()
	fresh := !c.checked.IsZero() && (t.o.DB.Exclusive || t.o.Now().Sub(c.checked) < t.o.IndexRefresh)
	moment := c.forgot
	known, err := map[string]storage.Metadata(nil), query.AccountOf(ctx).Take(int64(len(c.known)*metaBytes))
	if err == nil {
		known = maps.Clone(c.known)
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if fresh {
		return known, nil
	}
	begin := t.o.Now()
	all, err := t.scanMetadata(ctx)
	if err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	for metric, m := range all {
		t.meta.put(metric, m, moment)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgot != moment {
		return all, nil // metrics were renamed meanwhile; the next call reads again
	}
	c.checked = begin
	return maps.Clone(c.known), nil
}

func (t *metadata) scanMetadata(ctx context.Context) (map[string]storage.Metadata, error) {
	var uids []string
	var found []storage.Metadata
	scan := kv.Scan{Table: t.o.Tables.UID, Family: schema.FamilyName, Qualifier: schema.UIDMetaQualifier(storage.MetricName)}
	for row, err := range t.db.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		if len(row.Key) != t.layout.MetricWidth {
			continue
		}
		document, err := t.parseUIDMeta(storage.MetricName, row.Key, row.Cells[0].Value)
		if err != nil {
			continue // told of; the metadata of all others are shown
		}
		if m := metadataOf(document); m != (storage.Metadata{}) {
			uids, found = append(uids, string(row.Key)), append(found, m)
		}
	}
	list, err := t.uids.Names(ctx, storage.MetricName, uids)
	if err != nil {
		return nil, err
	}
	all := make(map[string]storage.Metadata, len(list))
	for i, metric := range list {
		if metric != "" {
			all[metric] = found[i]
		}
	}
	return all, nil
}

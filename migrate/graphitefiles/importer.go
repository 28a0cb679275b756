// Package graphitefiles brings files of Graphite's databases, whisper's and ceres', into a store, in parts of series, and makes whisper files
// of series. It opens no whisper file.
package graphitefiles

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/graphite/pipeline"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Archives keep the coarse archives of series. archive.Archives is one.
type Archives interface {
	source.Archives
	Put(ctx context.Context, ref storage.Ref, all []storage.ArchiveSlots) error
}

// An Importer stores parts of files of Graphite's databases. Names become series as those of carbon's lines do. It is
// safe for concurrent use; parts of one series must come one after the other.
type Importer struct {
	store    pipeline.Store
	names    *pipeline.Rules
	docs     source.SeriesMeta
	archives Archives // nil: there is no table for them
	sources  *source.Sources
	prepared <-chan struct{}
	batches  sync.Pool
}

// ImporterParts are what an Importer works with.
type ImporterParts struct {
	Store     pipeline.Store
	Names     *pipeline.Rules // nil: none
	Documents source.SeriesMeta
	Archives  Archives        // nil: there is no table for them
	Sources   *source.Sources // that read the archives
	Prepared  <-chan struct{} // closed when the trees are known
}

// NewImporter returns an Importer of a store.
func NewImporter(p ImporterParts) *Importer {
	return &Importer{
		store: p.Store, names: p.Names, docs: p.Documents, archives: p.Archives, sources: p.Sources, prepared: p.Prepared,
		batches: sync.Pool{New: func() any { return new(storage.Batch) }},
	}
}

// ErrNoArchives means that there is no table of coarse archives.
var ErrNoArchives = errors.New("there is no table of archives (--storage.table.archive): import the finest archive alone")

// Store stores a part, and returns when it is durable. After an error any of it may be; storing it again is safe.
// A part whose name is refused, or dropped by a list, is a storage.ErrInvalid or a storage.ErrLimit.
func (i *Importer) Store(ctx context.Context, p *Part) error {
	select {
	case <-i.prepared:
	case <-ctx.Done():
		return ctx.Err()
	}
	ref, err := i.resolve(ctx, p.Name)
	if err != nil {
		return err
	}
	var slots []storage.ArchiveSlots
	for n := range p.Runs {
		if r := &p.Runs[n]; r.Step > 0 {
			slots = append(slots, storage.ArchiveSlots{Step: r.Step, Times: r.Times, Values: r.Values})
		}
	}
	if i.archives == nil && len(slots) > 0 {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, ErrNoArchives)
	}
	if err := i.keep(ctx, ref, p.Kept); err != nil {
		return err
	}
	for n := range p.Runs {
		if r := &p.Runs[n]; r.Step == 0 {
			if err := i.append(ctx, ref, r); err != nil {
				return err
			}
		}
	}
	if i.archives == nil {
		return nil
	}
	return i.archives.Put(ctx, ref, slots) // the document is durable with it
}

// resolve returns the series of a name.
func (i *Importer) resolve(ctx context.Context, sent string) (storage.Ref, error) {
	if !utf8.ValidString(sent) {
		return 0, fmt.Errorf("%w: the name %q is not UTF-8", storage.ErrInvalid, sent)
	}
	_, name, err := i.names.Of(sent)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	refs, errs := i.store.Resolve(ctx, []storage.Series{i.store.SeriesOf(name)})
	if errs != nil && errs[0] != nil {
		return 0, errs[0]
	}
	return refs[0], nil
}

// append stores points of a series.
func (i *Importer) append(ctx context.Context, ref storage.Ref, r *Run) error {
	if len(r.Times) == 0 {
		return nil
	}
	batch := i.batches.Get().(*storage.Batch)
	defer i.batches.Put(batch)
	batch.Reset()
	for n, t := range r.Times {
		batch.Add(ref, t*1000, r.Values[n])
	}
	return i.store.Append(ctx, batch)
}

// keepAttempts is how often a document is looked at that others change at the same time.
const keepAttempts = 10

// keep has the document of a series tell of its archives.
func (i *Importer) keep(ctx context.Context, ref storage.Ref, text string) error {
	if text == "" {
		return nil
	}
	wanted, err := source.ParseKept(text)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	for range keepAttempts {
		values, err := i.docs.SeriesCustom(ctx, []storage.Ref{ref}, source.KeptKey)
		if err != nil {
			return err
		}
		was := values[0]
		told := wanted
		if old, err := source.ParseKept(was); err == nil {
			told = wanted.With(old)
		}
		if told.String() == was {
			i.sources.Kept(ref, told)
			return nil
		}
		if err := i.docs.SetSeriesCustom(ctx, source.KeptKey, []storage.CustomEdit{{Ref: ref, Old: was, New: told.String()}}); err != nil {
			return err
		}
	}
	return errors.New("the document of the series does not take its archives: others edit it, or it cannot be read")
}

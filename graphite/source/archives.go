package source

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Archives keep the coarse archives of series. archive.Archives is one.
type Archives interface {
	// Read calls use, from several goroutines, with slots of each series that has any.
	Read(ctx context.Context, q storage.ArchiveQuery, use func(ref storage.Ref, times []int64, values []float64)) error
}

// keptArchives knows which series have archives of their own, by their TSMeta documents. Safe for concurrent
// use.
type keptArchives struct {
	series   SeriesMeta
	archives Archives // nil: no series has any
	now      func() time.Time
	known    *cache.LRU[storage.Ref, knownArchives]
}

// knownArchives is what is remembered of a series.
type knownArchives struct {
	kept    *Kept // nil: none
	checked time.Time
}

func newKeptArchives(o Options) *keptArchives {
	return &keptArchives{series: o.Documents, archives: o.Archives, now: o.Now, known: cache.NewLRU[storage.Ref, knownArchives](maxSteps)}
}

// of returns the archives of series that have any.
func (k *keptArchives) of(ctx context.Context, refs []storage.Ref) (map[storage.Ref]*Kept, error) {
	if k.archives == nil {
		return nil, nil
	}
	var found map[storage.Ref]*Kept
	note := func(ref storage.Ref, kept *Kept) {
		if kept == nil {
			return
		}
		if found == nil {
			found = map[storage.Ref]*Kept{}
		}
		found[ref] = kept
	}
	var unknown []storage.Ref
	now := k.now()
	for _, ref := range refs {
		if known, ok := k.known.Get(ref); ok && now.Sub(known.checked) < stepFresh {
			note(ref, known.kept)
		} else {
			unknown = append(unknown, ref)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	values, err := k.series.SeriesCustom(ctx, unknown, KeptKey)
	if err != nil {
		return nil, err
	}
	for i, ref := range unknown {
		kept, err := ParseKept(values[i])
		if err != nil { // nearly always because there is none
			kept = nil
		}
		note(ref, kept)
		k.known.Put(ref, knownArchives{kept, now})
	}
	return found, nil
}

// Kept notes the archives of a series that have just been put into its document.
func (s *Sources) Kept(ref storage.Ref, kept *Kept) {
	s.archives.known.Put(ref, knownArchives{kept, s.o.Now()})
}

package source

import (
	"context"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Steps returns the steps of series in seconds: by the rules for their names, which may be empty,
// else those that are kept with the series, else those that follow from their points. Times are in
// epoch seconds.
func (s *Sources) Steps(ctx context.Context, names map[storage.Ref]string, from, until int64) (map[storage.Ref]int64, error) {
	ruled := map[storage.Ref]int64{}
	refs := make([]storage.Ref, 0, len(names))
	for ref, name := range names {
		if name != "" {
			if archives, ok := s.o.Schemas.Archives(name); ok && len(archives) > 0 {
				ruled[ref] = archives[0].Step
				continue
			}
		}
		refs = append(refs, ref)
	}
	if len(refs) == 0 {
		return ruled, nil
	}
	slices.Sort(refs)
	for some := range slices.Chunk(refs, maxFurther) {
		found, err := s.steps.of(ctx, some, span{from: from, until: until, now: s.o.Now().Unix()})
		if err != nil {
			return nil, err
		}
		maps.Copy(ruled, found)
	}
	return ruled, nil
}

package register

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// A UsedError is a deletion of a UID that series have.
type UsedError struct{ Mapping uid.Mapping }

// Error implements error.
func (e UsedError) Error() string {
	return fmt.Sprintf("series have the %s %q: delete them first, or they will have no name", e.Mapping.Kind, e.Mapping.Name)
}

// DeleteUID deletes the UID of a name, and the document of the UID. It refuses a UID that series have,
// with a UsedError, unless it is forced: then those series are in no answer any more, and other processes
// write to them until they forget the name. Series that other processes register at the same time are not
// seen.
func (reg *Registrar) DeleteUID(ctx context.Context, kind schema.Kind, name string, force bool) error {
	m, err := reg.uids.MappingOf(ctx, kind, name)
	if err != nil {
		return err
	}
	if !force {
		used, err := reg.catalog.UsedUIDs(ctx, []uid.Mapping{m})
		if err != nil {
			return err
		}
		if used[m.Key()] {
			return UsedError{m}
		}
	}
	release, err := reg.naming.change(ctx)
	if err != nil {
		return err
	}
	defer release()
	if !force && reg.anyHas(m) { // registered since
		return UsedError{m}
	}
	defer reg.catalog.Renamed() // also after an error, which may have come after a change
	return reg.uids.Delete(ctx, m)
}

// anyHas reports whether a series of the index has a UID.
func (reg *Registrar) anyHas(m uid.Mapping) bool {
	f := reg.newFollowing([]uid.Renamed{{Kind: m.Kind, UID: string(m.UID)}})
	for id := range index.ID(reg.index.Len()) {
		if reg.registry.Of(id).Exists() && f.has([]byte(reg.index.TSUID(id))) {
			return true
		}
	}
	return false
}

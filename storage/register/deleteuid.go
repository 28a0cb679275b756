package register

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// DeleteUID deletes the UID of a name, and the document of the UID. It refuses a UID that series have,
// with a UsedError, unless it is forced: then those series are in no answer any more, and other processes
// write to them until they forget the name. Series that other processes register at the same time are not
// seen.
func (reg *Registrar) DeleteUID(ctx context.Context, kind storage.NameKind, name string, force bool) error {
	m, err := reg.uids.MappingOf(ctx, kind, name)
	if err != nil {
		return err
	}
	if !force {
		used, err := reg.catalog.UsedUIDs(ctx, []storage.Mapping{m})
		if err != nil {
			return err
		}
		if used[m.Key()] {
			return storage.UsedError{Mapping: m}
		}
	}
	release, err := reg.naming.change(ctx)
	if err != nil {
		return err
	}
	defer release()
	if !force && reg.anyHas(m) { // registered since
		return storage.UsedError{Mapping: m}
	}
	defer reg.catalog.Renamed() // also after an error, which may have come after a change
	return reg.uids.Delete(ctx, m)
}

// anyHas reports whether a series of the index has a UID.
func (reg *Registrar) anyHas(m storage.Mapping) bool {
	f := reg.newFollowing([]uid.Renamed{{Kind: m.Kind, UID: string(m.UID)}})
	for id := range index.ID(reg.index.Len()) {
		if reg.registry.Of(id).Exists() && f.has([]byte(reg.index.TSUID(id))) {
			return true
		}
	}
	return false
}

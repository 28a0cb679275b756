package store

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Rename gives the UID of a name another name; see Registrar.Rename. No point and no series is lost:
// rows and the log have UIDs. Everything that was found or computed by the old name is forgotten.
func (s *services) Rename(ctx context.Context, kind storage.NameKind, from, to string) error {
	return s.registrar.Rename(ctx, kind, from, to)
}

// followRenames has all parts of the store follow when UIDs get other names.
func (s *parts) followRenames() {
	s.catalog.OnRename(s.documents.Forget)
	s.catalog.OnRename(func() { s.changes.Names() }) // answers that are kept have names
	s.catalog.FollowRenames(s.registrar.FollowRenames)
}

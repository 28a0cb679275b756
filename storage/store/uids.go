package store

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
)

// DeleteUID deletes the UID of a name; see Registrar.DeleteUID.
func (s *services) DeleteUID(ctx context.Context, kind storage.NameKind, name string, force bool) error {
	return s.registrar.DeleteUID(ctx, kind, name, force)
}

// CheckUIDs compares the rows of tsdb-uid with each other, and mends what it is told to.
func (s *services) CheckUIDs(ctx context.Context, o storage.UIDCheck) (storage.UIDReport, error) {
	o.Used, o.Now = s.catalog.UsedUIDs, s.o.Now
	report, err := s.uids.Check(ctx, o)
	if o.Fix {
		s.catalog.Renamed()
	}
	return report, err
}

package storage

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// A Mapping is a name with its UID.
type Mapping = uid.Mapping

// A UsedError is a deletion of a UID that series have.
type UsedError = register.UsedError

// A UIDCheck tells what CheckUIDs mends, and whom it tells; see package uid. The store fills in Used and
// Now.
type UIDCheck = uid.CheckOptions

// A UIDReport is what CheckUIDs found.
type UIDReport = uid.CheckReport

// DeleteUID deletes the UID of a name; see Registrar.DeleteUID.
func (s *Store) DeleteUID(ctx context.Context, kind schema.Kind, name string, force bool) error {
	return s.registrar.DeleteUID(ctx, kind, name, force)
}

// CheckUIDs compares the rows of tsdb-uid with each other, and mends what it is told to.
func (s *Store) CheckUIDs(ctx context.Context, o UIDCheck) (UIDReport, error) {
	o.Used, o.Now = s.catalog.UsedUIDs, s.o.Now
	report, err := s.uids.Check(ctx, o)
	if o.Fix {
		s.catalog.Renamed()
	}
	return report, err
}

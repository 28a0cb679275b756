package documents

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// unreadable returns the error of a stored document that cannot be read, which a TSD refuses too, and
// tells of it.
func (s *cells) unreadable(err error) error {
	if s.o.Unreadable != nil {
		s.o.Unreadable(err)
	}
	return storage.RowError{Err: err}
}

// parseTSMeta reads the stored document of a series.
func (s *cells) parseTSMeta(tsuid, raw []byte) (schema.TSMeta, error) {
	document, err := schema.ParseTSMeta(raw)
	if err != nil {
		return document, s.unreadable(fmt.Errorf("row %x of %s: the document of the series cannot be read: %w; tsdbridge fsck finds it, "+
			"and --fix=bad-document puts a new one in its place", tsuid, s.o.Tables.Meta, err))
	}
	return document, nil
}

// parseUIDMeta reads the stored document of a UID.
func (s *cells) parseUIDMeta(kind storage.NameKind, uid, raw []byte) (schema.UIDMeta, error) {
	document, err := schema.ParseUIDMeta(raw)
	if err != nil {
		return document, s.unreadable(fmt.Errorf("row %x of %s: the document of the %s UID cannot be read: %w; "+
			"DELETE /api/uid/uidmeta?type=%s&uid=%X deletes it (--opentsdb.allow-edits)", uid, s.o.Tables.UID, kind, err, kind, uid))
	}
	return document, nil
}

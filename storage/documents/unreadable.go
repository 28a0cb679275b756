package documents

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// unreadable returns the error of a stored document that cannot be read, which a TSD refuses too, and
// tells of it.
func (d *Documents) unreadable(err error) error {
	if d.o.Unreadable != nil {
		d.o.Unreadable(err)
	}
	return storage.RowError{Err: err}
}

// parseTSMeta reads the stored document of a series.
func (d *Documents) parseTSMeta(tsuid, raw []byte) (schema.TSMeta, error) {
	document, err := schema.ParseTSMeta(raw)
	if err != nil {
		return document, d.unreadable(fmt.Errorf("row %x of %s: the document of the series cannot be read: %w; tsdbridge fsck finds it, "+
			"and --fix=bad-document puts a new one in its place", tsuid, d.o.Tables.Meta, err))
	}
	return document, nil
}

// parseUIDMeta reads the stored document of a UID.
func (d *Documents) parseUIDMeta(kind storage.NameKind, uid, raw []byte) (schema.UIDMeta, error) {
	document, err := schema.ParseUIDMeta(raw)
	if err != nil {
		return document, d.unreadable(fmt.Errorf("row %x of %s: the document of the %s UID cannot be read: %w; "+
			"DELETE /api/uid/uidmeta?type=%s&uid=%X deletes it (--opentsdb.allow-edits)", uid, d.o.Tables.UID, kind, err, kind, uid))
	}
	return document, nil
}

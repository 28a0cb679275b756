package store

import (
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/annotations"
	"github.com/tsdbridge/tsdbridge/storage/archive"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/compact"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/election"
	"github.com/tsdbridge/tsdbridge/storage/leases"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// services are parts of a store that others use for themselves.
type services struct {
	parts
}

// Catalog returns the catalogue of the store's series: what more it knows than a Querier needs.
func (s *services) Catalog() *catalog.Catalog { return s.catalog }

// Names returns the dictionary of the store's names and UIDs.
func (s *services) Names() *uid.Dictionary { return s.uids }

// Documents returns the metadata of the store's metrics and the custom keys of its series.
func (s *services) Documents() *documents.Documents { return s.documents }

// Annotations returns the notes of the store's series, and the global ones.
func (s *services) Annotations() *annotations.Annotations { return s.annotations }

// Rollups returns the values of longer intervals; nil: there are no tables for them.
func (s *services) Rollups() *rollup.Rollups { return s.rollups }

// Archives returns the coarse archives of Graphite's series; nil: there is no table for them.
func (s *services) Archives() *archive.Archives { return s.archives }

// Elections returns who of several senders of the same data is listened to.
func (s *services) Elections() *election.Book { return election.New(s.db, s.o.Tables.Tree) }

// Leases returns the leases of the processes that share the tables; nil if no other process does.
func (s *services) Leases() *leases.Leases {
	if s.db.Versioned == nil {
		return nil
	}
	return leases.New(s.db, s.o.Tables.Tree, s.o.Now)
}

// Logged returns the store for protocols without an acknowledgement (carbon, telnet put). In every
// mode their points are durable when the log has them. Without a log it appends like the store.
func (s *services) Logged() storage.Appender { return logged{s.registrar, s.writer} }

// ClosedRows returns what is known of the compaction of closed rows; false if there is none.
func (s *services) ClosedRows() (compact.Status, bool) {
	if s.closed == nil {
		return compact.Status{}, false
	}
	return s.closed.Status(), true
}

// Series returns how many series the index knows.
func (s *services) Series() int { return s.index.Size() }

// Plan returns how the points of a query would be read.
func (s *services) Plan(q storage.Query) ([]storage.Plan, error) { return s.reader.Plan(q) }

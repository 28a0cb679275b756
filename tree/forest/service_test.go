package forest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/tree"
)

// A service is not ready before its trees are in memory, or paths are found in the table.
func TestReadyWaitsForTrees(t *testing.T) {
	for inTable, want := range map[bool]bool{false: false, true: true} {
		template, err := tree.ParseTemplate("servers.{host}.{metric...}")
		if err != nil {
			t.Fatal(err)
		}
		o := DefaultOptions()
		o.Exclusive = true
		db := kv.NewMem(kv.Table{Name: o.TreeTable, Families: []string{"t"}}, kv.Table{Name: o.UIDTable, Families: []string{"id", "name"}})
		s := NewService(db, ServiceOptions{
			Forest: o, Declared: []tree.Definition{template.Definition("servers")}, InTable: inTable, Refresh: time.Second,
			Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		})
		if s.Ready() == nil {
			t.Errorf("in the table %v: ready before the definitions are read", inTable)
		}
		if !s.prepare(t.Context()) {
			t.Fatal(s.problem())
		}
		s.finishPreparing()
		if err := s.Ready(); (err == nil) != want {
			t.Errorf("in the table %v: before the trees are read: %v", inTable, err)
		}
		s.o.Now = func() time.Time { return s.preparedAt.Add(mostLoadWait) }
		if err := s.Ready(); err != nil {
			t.Errorf("in the table %v: reading takes long: %v", inTable, err)
		}
		if _, err := s.Find(t.Context(), "servers.*", FindOptions{Limit: 10}); err != nil {
			t.Errorf("in the table %v: find while the trees are read: %v", inTable, err)
		}
	}
}

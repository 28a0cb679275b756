package hbase_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// conditionals are changes of the rows as they are, by their keys.
func conditionals(t *testing.T, e *hbase.Engine) map[string]kv.Conditional {
	t.Helper()
	rows, err := scanAll(t.Context(), e, kv.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]kv.Conditional{}
	for _, row := range rows {
		changes[string(row.Key)] = kv.Conditional{Read: row.Cells, Mutation: kv.Mutation{
			Key: row.Key, Puts: []kv.Put{{Qualifier: []byte("new"), Value: []byte("1"), Time: 1 << 50}},
		}}
	}
	return changes
}

// TestOldServers: a region server that passes over conditions gets no change with one, whether it is
// there at the start, or a region comes to it later.
func TestOldServers(t *testing.T) {
	c, e := fake(t, hbase.Options{})
	c.Unconditional[1] = true
	c.Split(table, key(50)) // the second half is on the old server
	mustApply(t, e, puts(0, 100, 1))
	changes := conditionals(t, e)
	before, err := scanAll(t.Context(), e, kv.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(rows ...kv.Conditional) ([]bool, error) {
		return e.ApplyUnchanged(t.Context(), table, family, rows)
	}
	refuse := func(what string, rows ...kv.Conditional) {
		t.Helper()
		made, err := apply(rows...)
		if !errors.Is(err, storage.ErrUnsupported) || !strings.Contains(err.Error(), "HBase 2.4 or later is needed") {
			t.Errorf("%s: %v, %v", what, made, err)
		}
	}
	refuse("a row on the old server", changes[key(70)])
	refuse("once more", changes[key(70)])
	after, err := scanAll(t.Context(), e, kv.Scan{})
	if diff := cmp.Diff(lines(before), lines(after)); err != nil || diff != "" {
		t.Errorf("the refused changes are there: %v\n%s", err, diff)
	}
	if made, err := apply(changes[key(20)]); err != nil || !made[0] {
		t.Errorf("a row on the new server: %v, %v", made, err)
	}
	c.Move(table, key(20)) // to the old server
	refuse("a region that has moved to the old server", changes[key(30)])
	rows, err := e.Get(t.Context(), table, family, [][]byte{[]byte(key(20)), []byte(key(30))})
	if diff := cmp.Diff([]string{key(20) + ": 00=20.0 6e6577=1", key(30) + ": 00=30.0"}, lines(rows)); err != nil || diff != "" {
		t.Errorf("in the end: %v\n%s", err, diff)
	}
}

// TestSupported: a table with a region on an old server is refused, with the master's version if it
// can be had, and whatever that is: vendors bring single changes to older versions.
func TestSupported(t *testing.T) {
	for _, test := range []struct {
		name, version string
		old           [2]bool
		want          string // "": it is accepted
	}{
		{"new", "2.6.4-hadoop3", [2]bool{}, ""},
		{"old by its number alone", "2.2.3.7.1.7.0-551", [2]bool{}, ""},
		{"version unreadable", "", [2]bool{}, ""},
		{"old", "2.2.7", [2]bool{true, true}, "(the master is HBase 2.2.7)"},
		{"old by a vendor", "2.1.0-cdh6.3.4", [2]bool{true, true}, "(the master is HBase 2.1.0-cdh6.3.4)"},
		{"old without a version", "", [2]bool{true, true}, "HBase 2.4 or later is needed"},
		{"one server is old yet", "2.6.4", [2]bool{false, true}, "(the master is HBase 2.6.4)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, e := fake(t, hbase.Options{})
			c.Unconditional, c.Version = test.old, test.version
			c.Split(table, key(50))
			mustApply(t, e, puts(0, 100, 1))
			before, err := scanAll(t.Context(), e, kv.Scan{})
			if err != nil {
				t.Fatal(err)
			}
			switch err := e.Supported(t.Context(), table, family); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.Is(err, storage.ErrUnsupported) || !strings.HasSuffix(err.Error(), test.want)):
				t.Errorf("err = %v, want %s", err, test.want)
			}
			after, err := scanAll(t.Context(), e, kv.Scan{})
			if diff := cmp.Diff(lines(before), lines(after)); err != nil || diff != "" {
				t.Errorf("the table has changed: %v\n%s", err, diff)
			}
		})
	}
	t.Run("no table", func(t *testing.T) {
		_, e := fake(t, hbase.Options{})
		if err := e.Supported(t.Context(), "nowhere", family); !errors.Is(err, kv.ErrNoTable) {
			t.Error(err)
		}
	})
}

// TestSupportedBesideHungServer: a server that does not answer keeps nobody from starting; it proves
// itself later.
func TestSupportedBesideHungServer(t *testing.T) {
	c, e := fake(t, hbase.Options{Timeout: time.Hour})
	c.Split(table, key(50))
	hold := make(chan struct{})
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if isMulti(r) && r.N == 0 {
			return hbasetest.Fault{Hold: hold}
		}
		return hbasetest.Fault{}
	})
	if err := e.Supported(t.Context(), table, family); err != nil {
		t.Error(err)
	}
	close(hold)
}

// TestProofOfEachConnection: a server that comes back at the same address proves itself again, since
// it may be of another version, and no other request does.
func TestProofOfEachConnection(t *testing.T) {
	c, e := fake(t, hbase.Options{})
	mustApply(t, e, puts(0, 3, 1))
	changes := conditionals(t, e)
	multis := func(key string) int {
		before := c.Count("Multi")
		if made, err := e.ApplyUnchanged(t.Context(), table, family, []kv.Conditional{changes[key]}); err != nil || !made[0] {
			t.Fatalf("%s: %v, %v", key, made, err)
		}
		return c.Count("Multi") - before
	}
	if n := multis(key(0)); n != 2 {
		t.Errorf("%d requests for the first change, want a proof and the change", n)
	}
	if n := multis(key(1)); n != 1 {
		t.Errorf("%d requests for the second change", n)
	}
	c.CloseConnections()
	if n := multis(key(2)); n != 2 {
		t.Errorf("%d requests on a new connection, want a proof and the change", n)
	}
}

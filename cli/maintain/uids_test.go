package maintain

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// runUIDCommand runs a command and returns its exit code and what it printed.
func runUIDCommand(t *testing.T, o adapter.Options, u admin.UIDRequest) (code int, out string) {
	t.Helper()
	if err := u.Validate(); err != nil {
		t.Fatal(err)
	}
	var text, said strings.Builder
	err := UIDs(t.Context(), o, UIDOptions{UIDRequest: u}, command.Console{Out: &text, Err: &said})
	if exit, ok := errors.AsType[*command.ExitError](err); ok {
		if exit.Err != nil {
			fmt.Fprintf(&text, "%v\n", exit.Err)
		}
		return exit.Code, text.String()
	}
	if err != nil {
		t.Fatalf("not an exit code: %v", err)
	}
	return 0, text.String()
}

// The commands about UIDs do the same on a store that nobody has open and by way of the adapter that has
// it open.
func TestUIDCommands(t *testing.T) {
	for _, running := range []bool{false, true} {
		o := adaptertest.Options(t, write.Buffered)
		a, stop := adaptertest.Run(t, o)
		adaptertest.AppendPoint(t, a.Store(), storage.Series{Metric: "sys.cpu", Tags: []storage.Tag{{Key: "host", Value: "web"}}}, 1356998400_000, 0.5)
		if running {
			o.ListenAddress = a.Addr()
		} else {
			stop()
		}
		for _, c := range []struct {
			u    admin.UIDRequest
			code int
			want string
		}{
			{admin.UIDRequest{Command: admin.UIDGrep, Names: []string{"^(sys|ho)"}}, 0, "tagk host: [0, 0, 1]\nmetrics sys.cpu: [0, 0, 1]\n"},
			{admin.UIDRequest{Command: admin.UIDGrep, Kind: "metrics", Names: []string{"CPU"}, IgnoreCase: true}, 0, "metrics sys.cpu: [0, 0, 1]\n"},
			{admin.UIDRequest{Command: admin.UIDGrep, Names: []string{"CPU"}}, 1, ""},
			{admin.UIDRequest{Command: admin.UIDLookup, Names: []string{"1"}}, 0, "metrics sys.cpu: [0, 0, 1]\ntagk host: [0, 0, 1]\ntagv web: [0, 0, 1]\n"},
			{admin.UIDRequest{Command: admin.UIDLookup, Kind: "tagv", Names: []string{"0x000001"}}, 0, "tagv web: [0, 0, 1]\n"},
			{admin.UIDRequest{Command: admin.UIDLookup, Names: []string{"9"}}, 1, ""},
			{admin.UIDRequest{Command: admin.UIDLookup, Names: []string{"16777216"}}, 1, "16777216 is too large to fit on 3 bytes\n"},
			{admin.UIDRequest{Command: admin.UIDLookup, Names: []string{"-1"}}, 1, ""},
			{admin.UIDRequest{Command: admin.UIDLookup, Names: []string{"host"}}, 0, "tagk host: [0, 0, 1]\n"},
			{admin.UIDRequest{Command: admin.UIDLookup, Kind: "metrics", Names: []string{"host"}}, 1, "No such name for 'metrics': 'host'\n"},
			{admin.UIDRequest{Command: admin.UIDLookup, Names: []string{"nobody"}}, 1, ""},
			{admin.UIDRequest{Command: admin.UIDPurge, Names: []string{"1"}}, 1, "tree 1: there is no such tree\n"},
			{admin.UIDRequest{Command: admin.UIDAssign, Kind: "metrics", Names: []string{"new", "sys.cpu"}}, 0, "metrics new: [0, 0, 2]\nmetrics sys.cpu: [0, 0, 1]\n"},
			{admin.UIDRequest{Command: admin.UIDAssign, Kind: "metrics", Names: []string{"中"}}, 1, "中: name cannot be stored: name \"中\": character U+4E2D at byte 0 is not one of U+0001 to U+00FF\n"},
			{admin.UIDRequest{Command: admin.UIDRename, Kind: "tagv", Names: []string{"web", "web01"}}, 0, "tagv web -> web01\n"},
			{admin.UIDRequest{Command: admin.UIDRename, Kind: "tagv", Names: []string{"web", "web02"}}, 1, "Name(\"web\") does not exist\n"},
			{admin.UIDRequest{Command: admin.UIDRename, Kind: "metrics", Names: []string{"new", "sys.cpu"}}, 1, "When trying rename(\"new\", \"sys.cpu\") on UniqueId(tsdb-uid, metrics, 3): new name already assigned ID=[0, 0, 1]\n"},
			{admin.UIDRequest{Command: admin.UIDDelete, Kind: "metrics", Names: []string{"new"}}, 0, "UID metrics new deleted.\n"},
			{admin.UIDRequest{Command: admin.UIDDelete, Kind: "metrics", Names: []string{"new"}}, 1, "Name(\"new\") does not exist\n"},
			{admin.UIDRequest{Command: admin.UIDDelete, Kind: "tagk", Names: []string{"host"}}, 1, "series have the tagk \"host\": delete them first, or they will have no name (--force deletes it all the same)\n"},
			{admin.UIDRequest{Command: admin.UIDFsck}, 0, "WARN Max ID for metrics is 2 but only 1 entries were found.  Maybe 1 IDs were deleted?\n11 cells analyzed: 0 errors, 1 warnings, 0 mended\n"},
			{admin.UIDRequest{Command: admin.UIDDelete, Kind: "tagk", Names: []string{"host"}, Force: true}, 0, "UID tagk host deleted.\n"},
			{admin.UIDRequest{Command: admin.UIDGrep, Kind: "tagk", Names: []string{""}}, 1, ""},
		} {
			if code, out := runUIDCommand(t, o, c.u); code != c.code || out != c.want {
				t.Errorf("running %v: %+v: exit code %d\n%swant %d\n%s", running, c.u, code, out, c.code, c.want)
			}
		}
		stop()
	}
}

// fsck mends what is broken under a running adapter, which knows it at once.
func TestUIDFsckOfRunningAdapter(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	a, _ := adaptertest.Run(t, o)
	o.ListenAddress = a.Addr()
	one := storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "web"}}}
	if _, errs := a.Store().Resolve(t.Context(), []storage.Series{one}); errs != nil {
		t.Fatal(errs)
	}
	lost := []kv.Mutation{{Key: []byte{0, 0, 1}, Deletes: []kv.Delete{{Qualifier: []byte("tagv")}}}}
	if err := a.Tables().Apply(t.Context(), "tsdb-uid", "name", lost); err != nil {
		t.Fatal(err)
	}
	if code, out := runUIDCommand(t, o, admin.UIDRequest{Command: admin.UIDFsck}); code != 1 || !strings.HasPrefix(out, "ERROR Forward tagv mapping is missing reverse mapping: web -> 000001\n") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, out := runUIDCommand(t, o, admin.UIDRequest{Command: admin.UIDFsck, Fix: true}); code != 1 || !strings.Contains(out, "FIX: Restoring tagv reverse mapping: 000001 -> web\n") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, out := runUIDCommand(t, o, admin.UIDRequest{Command: admin.UIDFsck}); code != 0 {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// A tree is purged only with --yes; its definition stays unless it is to go too.
func TestTreePurge(t *testing.T) {
	for _, running := range []bool{false, true} {
		o := adaptertest.Options(t, write.Buffered)
		a, stop := adaptertest.Run(t, o)
		if _, err := a.Trees().Editor().Create(t.Context(), schema.Tree{Name: "old"}); err != nil {
			t.Fatal(err)
		}
		if running {
			o.ListenAddress = a.Addr()
		} else {
			stop()
		}
		const what = "tree 1 (old): 0 branches, 0 leaves, 0 collisions and 0 series without a match"
		for _, c := range []struct {
			definition, yes bool
			code            int
			want            string
		}{
			{false, false, 1, what + ", would be deleted: give --yes\n"},
			{true, false, 1, what + ", and its definition and rules, would be deleted: give --yes\n"},
			{false, true, 0, what + ", deleted\n"},
			{true, true, 0, what + ", and its definition and rules, deleted\n"},
			{true, true, 1, "tree 1: there is no such tree\n"},
		} {
			u := admin.UIDRequest{Command: admin.UIDPurge, Names: []string{"1"}, Definition: c.definition, Yes: c.yes}
			if code, out := runUIDCommand(t, o, u); code != c.code || out != c.want {
				t.Errorf("running %v: %+v: exit code %d\n%swant %d\n%s", running, u, code, out, c.code, c.want)
			}
		}
		stop()
	}
}

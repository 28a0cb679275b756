package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
)

// UIDOptions are the arguments and flags of the commands about UIDs.
type UIDOptions struct {
	admin.UIDRequest

	URL string // --adapter-url: of the adapter that has the store open
}

// UIDs carries out a command about UIDs. An adapter that has the embedded store open does it. The exit
// codes are those of OpenTSDB's tool: 0, or 1 if nothing matched, a name does not exist, or fsck found
// errors that it did not mend.
func UIDs(ctx context.Context, o adapter.Options, u UIDOptions, console command.Console) error {
	printLine := func(line string) error {
		_, err := fmt.Fprintln(console.Out, line)
		return err
	}
	code := 0
	err := session.Place{Options: o, URL: u.URL}.Read(ctx, func(ctx context.Context, t session.Tables) (err error) {
		code, err = t.UIDs(ctx, u.UIDRequest, printLine)
		return err
	})
	if err != nil || code != 0 {
		return &command.ExitError{Code: max(code, 1), Err: err}
	}
	return nil
}

const kindHelp = "metrics, tagk or tagv."

// UIDCommands adds the commands about UIDs, with the arguments of OpenTSDB's tool, to a command line.
func UIDCommands(s *command.Set) {
	c := s.Group("uid", "Names and their UIDs, on every engine.")
	uidGrep(s, c)
	uidAssign(s, c)
	uidRename(s, c)
	uidDelete(s, c)
	uidFsck(s, c)
	uidLookup(s, c)
	uidMetaSync(s, c)
	uidTreeSync(s, c)
	uidPurge(s, c)
	c.Command("metapurge", "Refused: the rows of tsdb-meta are what series are found by. uid delete deletes the metadata of a name with its UID.").Action(func(*kingpin.ParseContext) error {
		return errors.New("metapurge: the rows of tsdb-meta are what series are found by, so they are not purged; fsck --table=meta --fix mends them, and uid delete deletes the metadata of a name with its UID")
	})
	mkmetric(s)
}

// addUID adds a command about UIDs.
func addUID(s *command.Set, parent command.Parent, u *UIDOptions, help string) *kingpin.CmdClause {
	c := s.Add(parent, string(u.Command), command.With(validUIDs, u), help)
	c.Flag("adapter-url", command.RunningAdapter).PlaceHolder("URL").StringVar(&u.URL)
	return c
}

// validUIDs is UIDs of a command line.
func validUIDs(ctx context.Context, o adapter.Options, u UIDOptions, console command.Console) error {
	if err := u.Validate(); err != nil {
		return &command.ExitError{Code: command.ExitUsage, Err: err}
	}
	return UIDs(ctx, o, u, console)
}

// newUID returns the options of a command.
func newUID(c admin.UIDCommand) *UIDOptions {
	return &UIDOptions{UIDRequest: admin.UIDRequest{Command: c}}
}

func uidGrep(s *command.Set, parent *kingpin.CmdClause) {
	u := newUID(admin.UIDGrep)
	c := addUID(s, parent, u, "Print the names that match a regular expression (RE2, anywhere in the name) with their UIDs. The exit code is 1 if none does.")
	kindAndName(c, u, c.Arg("kind-or-pattern", "A kind ("+kindHelp+") if a pattern follows, otherwise the pattern."), c.Arg("pattern", "Regular expression."))
	c.Flag("ignore-case", "Upper and lower case are the same.").Short('i').BoolVar(&u.IgnoreCase)
}

// kindAndName reads a kind and a name, or a name alone.
func kindAndName(c *kingpin.CmdClause, u *UIDOptions, first, second *kingpin.ArgClause) {
	kindOrName, name := first.Required().String(), second.String()
	c.Action(func(*kingpin.ParseContext) error {
		if u.Names = []string{*kindOrName}; *name != "" {
			u.Kind, u.Names = *kindOrName, []string{*name}
		}
		return nil
	})
}

func uidAssign(s *command.Set, parent *kingpin.CmdClause) {
	u := newUID(admin.UIDAssign)
	c := addUID(s, parent, u, "Give names UIDs, unless they have some, and print them.")
	c.Arg("kind", kindHelp).Required().StringVar(&u.Kind)
	c.Arg("name", "Name.").Required().StringsVar(&u.Names)
}

func uidRename(s *command.Set, parent *kingpin.CmdClause) {
	u := newUID(admin.UIDRename)
	c := addUID(s, parent, u, "Give the UID of a name another name. After an interruption the same command finishes.")
	c.Arg("kind", kindHelp).Required().StringVar(&u.Kind)
	from := c.Arg("name", "The old name.").Required().String()
	to := c.Arg("new-name", "The new name.").Required().String()
	c.Action(func(*kingpin.ParseContext) error {
		u.Names = []string{*from, *to}
		return nil
	})
}

func uidDelete(s *command.Set, parent *kingpin.CmdClause) {
	u := newUID(admin.UIDDelete)
	c := addUID(s, parent, u, "Delete the UID of a name, and the metadata of the UID.")
	c.Arg("kind", kindHelp).Required().StringVar(&u.Kind)
	name := c.Arg("name", "The name.").Required().String()
	c.Flag("force", "Also if series have it. They are in no answer then, and a TSD fails queries that meet them.").BoolVar(&u.Force)
	c.Action(func(*kingpin.ParseContext) error {
		u.Names = []string{*name}
		return nil
	})
}

func uidFsck(s *command.Set, parent *kingpin.CmdClause) {
	u := newUID(admin.UIDFsck)
	c := addUID(s, parent, u, "Compare names, UIDs and counters with each other, and print what does not fit. The exit code is 1 if there are errors.")
	c.Flag("fix", "Repair what can be repaired. Default: nothing is changed.").BoolVar(&u.Fix)
	c.Flag("delete-unknown", "With --fix, also delete columns that are none of OpenTSDB's.").BoolVar(&u.DeleteUnknown)
	var words []string
	c.Arg("word", "fix or delete_unknown, for the flags of these names.").EnumsVar(&words, "fix", "delete_unknown")
	c.Action(func(*kingpin.ParseContext) error {
		u.Fix = u.Fix || slices.Contains(words, "fix")
		u.DeleteUnknown = u.DeleteUnknown || slices.Contains(words, "delete_unknown")
		return nil
	})
}

func uidLookup(s *command.Set, parent *kingpin.CmdClause) {
	u := newUID(admin.UIDLookup)
	c := addUID(s, parent, u, "Print the UIDs of a name, or the names of a UID: digits, or 0x and hexadecimal digits. The word lookup may be left out. The exit code is 1 if there is none.").Default()
	kindAndName(c, u, c.Arg("kind-or-name", "A kind (metrics, tagk or tagv) if a name or UID follows, otherwise that."), c.Arg("name", "Name or UID."))
}

func uidMetaSync(s *command.Set, parent *kingpin.CmdClause) {
	f := DefaultFsckOptions()
	f.Fix = "no-meta"
	checkFlags(s.Add(parent, "metasync", command.With(SyncMeta, &f), "Make the rows of tsdb-meta that are missing: meta sync --fix."), &f)
}

func uidTreeSync(s *command.Set, parent *kingpin.CmdClause) {
	flags := DefaultSyncOptions()
	treeSyncFlags(s.Add(parent, "treesync", printing(SyncTrees, &flags), "Add the existing series to all trees: tree sync."), &flags)
}

func uidPurge(s *command.Set, parent *kingpin.CmdClause) {
	u := newUID(admin.UIDPurge)
	c := addUID(s, parent, u, "Delete the branches and leaves of a tree, and all else that is on record of it. If it is enabled, the existing series are added to it again. Default: print what would be deleted; the exit code is then 1.")
	id := c.Arg("id", "The id of the tree.").Required().String()
	definition := c.Arg("definition", "true: also delete the definition and the rules.").String()
	c.Flag("yes", "Delete.").BoolVar(&u.Yes)
	c.Action(func(*kingpin.ParseContext) error {
		u.Names, u.Definition = []string{*id}, strings.EqualFold(*definition, "true")
		return nil
	})
}

func mkmetric(s *command.Set) {
	u := newUID(admin.UIDAssign)
	u.Kind = "metrics"
	c := s.Add(s.App, "mkmetric", command.With(validUIDs, u), "Give metrics UIDs, unless they have some, and print them: uid assign metrics.")
	c.Arg("name", "Metric.").Required().StringsVar(&u.Names)
	c.Flag("adapter-url", command.RunningAdapter).PlaceHolder("URL").StringVar(&u.URL)
}

package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
)

// commandMkmetric is OpenTSDB's short way to "uid assign metrics".
const commandMkmetric = "mkmetric"

// uidCommands are the commands about UIDs, with the arguments of OpenTSDB's tool.
func (p *parser) uidCommands() {
	c := p.app.Command("uid", "Names and their UIDs, on every engine.")
	const kind = "metrics, tagk or tagv."
	grep := p.uidCommand(c, admin.UIDGrep, "Print the names that match a regular expression (RE2, anywhere in the name) with their UIDs. The exit code is 1 if none does.")
	var first, second string
	grep.Arg("kind-or-pattern", "A kind ("+kind+") if a pattern follows, otherwise the pattern.").Required().StringVar(&first)
	grep.Arg("pattern", "Regular expression.").StringVar(&second)
	grep.Flag("ignore-case", "Upper and lower case are the same.").Short('i').BoolVar(&p.uid.IgnoreCase)
	grep.Action(func(*kingpin.ParseContext) error {
		if p.uid.Names = []string{first}; second != "" {
			p.uid.Kind, p.uid.Names = first, []string{second}
		}
		return nil
	})
	assign := p.uidCommand(c, admin.UIDAssign, "Give names UIDs, unless they have some, and print them.")
	assign.Arg("kind", kind).Required().StringVar(&p.uid.Kind)
	assign.Arg("name", "Name.").Required().StringsVar(&p.uid.Names)
	rename := p.uidCommand(c, admin.UIDRename, "Give the UID of a name another name. After an interruption the same command finishes.")
	rename.Arg("kind", kind).Required().StringVar(&p.uid.Kind)
	var from, to string
	rename.Arg("name", "The old name.").Required().StringVar(&from)
	rename.Arg("new-name", "The new name.").Required().StringVar(&to)
	rename.Action(func(*kingpin.ParseContext) error {
		p.uid.Names = []string{from, to}
		return nil
	})
	remove := p.uidCommand(c, admin.UIDDelete, "Delete the UID of a name, and the metadata of the UID.")
	remove.Arg("kind", kind).Required().StringVar(&p.uid.Kind)
	var name string
	remove.Arg("name", "The name.").Required().StringVar(&name)
	remove.Flag("force", "Also if series have it. They are in no answer then, and a TSD fails queries that meet them.").BoolVar(&p.uid.Force)
	remove.Action(func(*kingpin.ParseContext) error {
		p.uid.Names = []string{name}
		return nil
	})
	fsck := p.uidCommand(c, admin.UIDFsck, "Compare names, UIDs and counters with each other, and print what does not fit. The exit code is 1 if there are errors.")
	fsck.Flag("fix", "Mend what can be mended. Default: nothing is changed.").BoolVar(&p.uid.Fix)
	fsck.Flag("delete-unknown", "With --fix, also delete columns that are none of OpenTSDB's.").BoolVar(&p.uid.DeleteUnknown)
	var words []string
	fsck.Arg("word", "fix or delete_unknown, for the flags of these names.").EnumsVar(&words, "fix", "delete_unknown")
	fsck.Action(func(*kingpin.ParseContext) error {
		p.uid.Fix = p.uid.Fix || slices.Contains(words, "fix")
		p.uid.DeleteUnknown = p.uid.DeleteUnknown || slices.Contains(words, "delete_unknown")
		return nil
	})

	p.tsdCommands(c)

	mkmetric := p.app.Command(commandMkmetric, "Give metrics UIDs, unless they have some, and print them: uid assign metrics.")
	mkmetric.Arg("name", "Metric.").Required().StringsVar(&p.uid.Names)
	mkmetric.Flag("adapter-url", runningAdapter).PlaceHolder("URL").StringVar(&p.uid.URL)
	mkmetric.Action(func(*kingpin.ParseContext) error {
		p.uid.Command, p.uid.Kind = admin.UIDAssign, "metrics"
		return nil
	})
}

// tsdCommands are commands that OpenTSDB's tool has under uid and that are others here, or begin with no word.
func (p *parser) tsdCommands(c *kingpin.CmdClause) {
	lookup := p.uidCommand(c, admin.UIDLookup, "Print the UIDs of a name, or the names of a UID: digits, or 0x and hexadecimal digits. The word lookup may be left out. The exit code is 1 if there is none.").Default()
	var first, second string
	lookup.Arg("kind-or-name", "A kind (metrics, tagk or tagv) if a name or UID follows, otherwise that.").Required().StringVar(&first)
	lookup.Arg("name", "Name or UID.").StringVar(&second)
	lookup.Action(func(*kingpin.ParseContext) error {
		if p.uid.Names = []string{first}; second != "" {
			p.uid.Kind, p.uid.Names = first, []string{second}
		}
		return nil
	})
	metasync := c.Command("metasync", "Make the rows of tsdb-meta that are missing: meta sync --fix.")
	metasync.Action(func(*kingpin.ParseContext) error {
		p.metaSync.Fix = "no-meta"
		return nil
	})
	p.checkFlags(metasync, &p.metaSync)
	treesync := c.Command("treesync", "Add the existing series to all trees: tree sync.")
	p.treeSyncFlags(treesync)
	purge := p.uidCommand(c, admin.UIDPurge, "Delete the branches and leaves of a tree, and all else that is on record of it. If it is enabled, the existing series are added to it again. Default: print what would be deleted; the exit code is then 1.")
	var id, definition string
	purge.Arg("id", "The id of the tree.").Required().StringVar(&id)
	purge.Arg("definition", "true: also delete the definition and the rules.").StringVar(&definition)
	purge.Flag("yes", "Delete.").BoolVar(&p.uid.Yes)
	purge.Action(func(*kingpin.ParseContext) error {
		p.uid.Names, p.uid.Definition = []string{id}, strings.EqualFold(definition, "true")
		return nil
	})
	c.Command("metapurge", "Refused: the rows of tsdb-meta are what series are found by. uid delete deletes the metadata of a name with its UID.").Action(func(*kingpin.ParseContext) error {
		return errors.New("metapurge: the rows of tsdb-meta are what series are found by, so they are not purged; fsck --table=meta --fix mends them, and uid delete deletes the metadata of a name with its UID")
	})
}

func (p *parser) uidCommand(c *kingpin.CmdClause, command admin.UIDCommand, help string) *kingpin.CmdClause {
	one := c.Command(string(command), help)
	one.Flag("adapter-url", runningAdapter).PlaceHolder("URL").StringVar(&p.uid.URL)
	one.Action(func(*kingpin.ParseContext) error {
		p.uid.Command = command
		return nil
	})
	return one
}

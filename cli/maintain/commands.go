package maintain

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// printing returns what calls f, which prints results alone, with the flags of its command.
func printing[O any](f func(context.Context, adapter.Options, O, io.Writer) error, flags *O) command.Run {
	return func(ctx context.Context, o adapter.Options, console command.Console) error {
		return f(ctx, o, *flags, console.Out)
	}
}

// usingAdapter describes --adapter-url of commands that need the embedded store.
const usingAdapter = "URL of the adapter that uses the store (it needs --web.enable-admin-api). Default: this machine, at --web.listen-address."

// StoreCommands adds the commands about the tables, and about the embedded store, to a command line.
func StoreCommands(s *command.Set) {
	group := s.Group("tables", "The tables.")
	createCommand(s, group)
	compactCommand(s, group)
	backups := s.Group("backup", "Copies of the embedded store.")
	backupCommand(s, backups)
	verifyCommand(s, backups)
	checkCommand(s)
	restoreCommand(s)
}

// createTables creates the tables of an adapter.
func createTables(ctx context.Context, o adapter.Options, t tables.CreateOptions, out io.Writer) error {
	return tables.Create(ctx, o.Options, t, out)
}

func createCommand(s *command.Set, group *kingpin.CmdClause) {
	var o tables.CreateOptions
	c := s.Add(group, "create", printing(createTables, &o), "Create the tables on HBase. Existing tables are not changed.")
	f := c.Flag
	f("splits", "Regions of the data table (a number), or the row keys in hex, comma-separated, where they begin. Default: one per salt bucket.").StringVar(&o.Splits)
	f("compression", "auto (the best that the cluster has: zstd, lz4, snappy, gz), none, gz, snappy, lz4, zstd or lzo.").Default("auto").EnumVar(&o.Compression, "auto", "none", "gz", "snappy", "lz4", "zstd", "lzo")
	f("encoding", "Data block encoding: none, prefix, diff, fast_diff or row_index_v1.").Default("diff").EnumVar(&o.Encoding, "none", "prefix", "diff", "fast_diff", "row_index_v1")
	f("block-size", "Block size of the data table. Larger blocks of full rows take less disk space and cost more to read single rows from; see docs/hbase.md.").Default(flagvalue.SizeText(64 << 10)).SetValue((*flagvalue.Size)(&o.BlockSize))
	f("ttl", "How long points are kept, such as 8760h; 0: for ever.").Default("0s").DurationVar(&o.TTL)
	f("dry-run", "Print the statements for HBase's shell, and create nothing.").BoolVar(&o.DryRun)
	c.Action(func(*kingpin.ParseContext) error {
		if o.TTL < 0 || o.TTL%time.Second != 0 {
			return fmt.Errorf("--ttl=%s: want whole seconds, 0 or more", o.TTL)
		}
		return nil
	})
}

func compactCommand(s *command.Set, group *kingpin.CmdClause) {
	var o StoreOptions
	c := s.Add(group, "compact", printing(CompactTables, &o), "Rewrite the embedded store into the least space, and print the sizes before and after.")
	c.Flag("adapter-url", usingAdapter).PlaceHolder("URL").StringVar(&o.URL)
}

func backupCommand(s *command.Set, backups *kingpin.CmdClause) {
	var o StoreOptions
	c := s.Add(backups, "make", printing(Backup, &o), "Copy the embedded store into a directory that does not exist yet, while an adapter uses it or not.").Default()
	c.Flag("adapter-url", usingAdapter).PlaceHolder("URL").StringVar(&o.URL)
	c.Arg("dir", "Directory of the backup.").Required().StringVar(&o.Dir)
}

func verifyCommand(s *command.Set, backups *kingpin.CmdClause) {
	var o StoreOptions
	c := s.Add(backups, "verify", printing(VerifyBackup, &o), "Read a backup and compare it with its checksums. The result is written to DIR.verified.json, next to it.")
	c.Arg("dir", "Directory of the backup; it is not changed.").Required().StringVar(&o.Dir)
}

func checkCommand(s *command.Set) {
	var fix bool
	c := s.Add(s.Group("store", "The embedded store."), "check", printing(adapter.CheckStore, &fix), "Read a store that no adapter uses, and print what is damaged and what is lost.")
	c.Flag("fix", "Also make the store whole without what is lost. Damaged files are kept in the directory \"aside\" of --storage.path.").BoolVar(&fix)
}

func restoreCommand(s *command.Set) {
	var o StoreOptions
	c := s.Add(s.App, "restore", printing(Restore, &o), "Copy a backup into --storage.path, which must be empty.")
	c.Arg("dir", "Directory of the backup; it is not changed.").Required().StringVar(&o.Dir)
}

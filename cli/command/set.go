package command

import (
	"context"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
)

// A Run is what a command does, with the options of the adapter that the command line gives. Its
// error is printed. An *ExitError has an exit code of its own; others exit with 1.
type Run func(ctx context.Context, o adapter.Options, console Console) error

// With returns what calls f with the flags of its command.
func With[O any](f func(context.Context, adapter.Options, O, Console) error, flags *O) Run {
	return func(ctx context.Context, o adapter.Options, console Console) error {
		return f(ctx, o, *flags, console)
	}
}

// A Set is the commands of a command line. When the command line was parsed it has the command that
// was chosen.
type Set struct {
	App *kingpin.Application

	Run     Run  // of the chosen command
	NoCheck bool // the chosen command does not need valid options of the adapter
}

// A Parent is the command line, or a command that others are below.
type Parent interface {
	Command(name, help string) *kingpin.CmdClause
}

// Group adds a command that others are below.
func (s *Set) Group(name, help string) *kingpin.CmdClause { return s.App.Command(name, help) }

// Add adds a command.
func (s *Set) Add(parent Parent, name string, run Run, help string) *kingpin.CmdClause {
	return parent.Command(name, help).Action(func(*kingpin.ParseContext) error {
		s.Run = run
		return nil
	})
}

// WithoutOptions has a command run although the options of the adapter are wrong.
func (s *Set) WithoutOptions(c *kingpin.CmdClause) *kingpin.CmdClause {
	return c.Action(func(*kingpin.ParseContext) error {
		s.NoCheck = true
		return nil
	})
}

// RunningAdapter describes --adapter-url of commands that a running adapter carries out.
const RunningAdapter = "URL of the running adapter that does it (it needs --web.enable-admin-api). Default: the tables are opened; if an adapter has the embedded store open, the one on this machine at --web.listen-address does it."

// AnsweringAdapter is likewise of commands that only ask.
const AnsweringAdapter = "URL of the running adapter that answers. Default: the tables are opened; if an adapter has the embedded store open, the one on this machine at --web.listen-address answers."

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/ask"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/maintain"
	"github.com/tsdbridge/tsdbridge/cli/migrate"
	"github.com/tsdbridge/tsdbridge/cli/rules"
	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// commands adds all commands, in the order of the help.
func (p *parser) commands() {
	s := &p.set
	s.Add(p.app, "serve", p.serve, "Run the adapter.").Default()
	s.WithoutOptions(s.Add(p.app, "version", printVersion, "Print the version."))
	maintain.StoreCommands(s)
	maintain.TreeCommands(s)
	migrate.Commands(s, sideOptions)
	maintain.FsckCommand(s)
	maintain.MetaCommand(s)
	maintain.UIDCommands(s)
	ask.QueryCommand(s)
	ask.LookupCommand(s)
	p.checkCommands()
	rules.BackfillCommand(s)
	rules.TestCommand(s)
	ask.HealthCommand(s)
	completionCommand(s)
	manPageCommand(s)
}

func printVersion(_ context.Context, _ adapter.Options, console command.Console) error {
	_, err := fmt.Fprintln(console.Out, "tsdbridge", adapter.Version())
	return err
}

// sideOptions returns the options of a configuration file. The flags of the command, and the environment variables that stand
// for flags, are not among them: they would name the same store twice.
func sideOptions(file string, stderr io.Writer) (adapter.Options, error) {
	environment := settings.Variables(os.Environ())
	maps.DeleteFunc(environment, func(name, _ string) bool { return strings.HasPrefix(name, settings.EnvPrefix) })
	c, err := parseCommandIn(settings.Source{Environment: environment}, []string{"--" + settings.ConfigFlag + "=" + file}, io.Discard, stderr)
	return c.options, err
}

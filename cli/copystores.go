package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/migrate"
)

// copyStores copies one store into another. A side that no flag names is that of the command's own flags.
func copyStores(ctx context.Context, c commandLine, console command.Console) error {
	for flag, side := range map[string]*migrate.CopySide{"from": &c.copies.From, "to": &c.copies.To} {
		side.Options = c.options
		if side.Given == "" || migrate.IsURL(side.Given) {
			continue
		}
		read, err := sideOptions(side.Given, console.Err)
		if err != nil {
			return &command.ExitError{Code: 2, Err: fmt.Errorf("--%s=%s: %w", flag, side.Given, err)}
		}
		side.Options = read
		side.Options.Logger = c.options.Logger
	}
	return migrate.Copy(ctx, c.copies, console)
}

// sideOptions returns the options of a configuration file. The flags of the command, and the environment variables that stand
// for flags, are not among them: they would name the same store twice.
func sideOptions(file string, stderr io.Writer) (adapter.Options, error) {
	environment := variables(os.Environ())
	maps.DeleteFunc(environment, func(name, _ string) bool { return strings.HasPrefix(name, envPrefix) })
	c, err := parseCommandIn(environment, []string{"--" + configFlag + "=" + file}, io.Discard, stderr)
	return c.options, err
}

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// commandLine is a parsed command line.
type commandLine struct {
	run     command.Run // nil: help was printed, or that there is no help of something
	exit    int         // without run
	options adapter.Options
	values  *settings.Values // that the command line does not set
}

// parseCommand reads the command line, the environment and the configuration file that they name.
func parseCommand(args []string, stdout, stderr io.Writer) (commandLine, error) {
	return parseCommandIn(settings.Source{Environment: settings.Variables(os.Environ())}, args, stdout, stderr)
}

// parseCommandIn is parseCommand with other sources of settings. The command line wins over the environment, that
// over the configuration file, and that over a TSD's.
func parseCommandIn(from settings.Source, args []string, stdout, stderr io.Writer) (commandLine, error) {
	p := newParser(stdout)
	if len(args) > 0 && args[0] == completionFlag { // the rest is no whole command line
		_, _ = p.app.Parse(completed(args)) // it prints the words
		return commandLine{}, nil
	}
	original := args
	args, err := settings.PlainBools(p.app, args)
	if err != nil {
		return commandLine{}, err
	}
	given, err := p.app.ParseContext(args)
	if p.terminated || err != nil {
		return commandLine{exit: p.exit}, p.suggestFlag(given, args, err)
	}
	values, err := p.server.Read(given, from)
	if err != nil {
		return commandLine{}, err
	}
	p = newParser(stdout)
	p.args = original
	set, err := settings.PlainBools(p.app, values.Args())
	if err != nil {
		return commandLine{}, err
	}
	all := append(set, args...)
	_, err = p.app.Parse(all)
	if p.terminated { // it printed help, and why there is none
		return commandLine{exit: p.exit}, nil
	}
	if err != nil {
		if wrongForm(err) {
			return commandLine{}, p.advise(given, args, err)
		}
		return commandLine{}, nameFlag(all, err)
	}
	c := commandLine{run: p.set.Run, values: values}
	if c.options, err = p.server.Options(values, stderr); err != nil {
		return commandLine{}, err
	}
	if !p.set.NoCheck {
		err = values.InFile(c.options.Validate())
	}
	return c, err
}

// nameFlag adds the flag to an error of kingpin about a value, which does not name it.
func nameFlag(args []string, err error) error {
	given, contextErr := newParser(io.Discard).app.ParseContext(args)
	if err == nil || contextErr != nil {
		return err
	}
	for _, e := range given.Elements {
		f, ok := e.Clause.(*kingpin.FlagClause)
		if !ok || e.Value == nil || f.Model().IsBoolFlag() {
			continue
		}
		flag := "--" + f.Model().Name + "=" + *e.Value
		only := []string{flag}
		if newParser(io.Discard).app.GetFlag(f.Model().Name) == nil {
			name := given.SelectedCommand.FullCommand()
			only = append(strings.Fields(name), flag)
			for _, arg := range given.SelectedCommand.Model().Args {
				if arg.Required {
					only = append(only, "argument")
				}
			}
		}
		if _, one := newParser(io.Discard).app.Parse(only); one != nil && one.Error() == err.Error() {
			return withFlag(flag, err)
		}
	}
	return err
}

// withFlag adds a flag with its value to an error that does not begin with it.
func withFlag(flag string, err error) error {
	name, _, _ := strings.Cut(flag, "=")
	for _, begin := range []string{flag + ": ", name + ": "} {
		if rest, ok := strings.CutPrefix(err.Error(), begin); ok {
			return fmt.Errorf("%s: %s", flag, rest)
		}
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// parser defines the command line and holds its values.
type parser struct {
	app        *kingpin.Application
	server     *settings.Flags
	set        command.Set
	args       []string // the command line, of which others are read with the same configuration
	terminated bool
	exit       int // if terminated
}

// newParser defines the command line.
func newParser(stdout io.Writer) *parser {
	p := &parser{app: kingpin.New("tsdbridge", "A Prometheus remote-storage adapter over the OpenTSDB schema.")}
	p.set.App = p.app
	p.app.HelpFlag.Short('h')
	p.app.Version("tsdbridge " + adapter.Version())
	p.app.UsageWriter(stdout)
	p.app.Terminate(func(status int) {
		if p.terminated = true; status != 0 { // the reason was printed
			p.exit = 2
		}
	})
	p.server = settings.Define(p.app)
	p.commands()
	return p
}

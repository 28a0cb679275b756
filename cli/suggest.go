package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// suggestFlag adds the most similar known name to an error about an unknown flag or command, and
// replaces the error about a retired flag.
func (p *parser) suggestFlag(given *kingpin.ParseContext, args []string, err error) (out error) {
	if err == nil {
		return nil
	}
	if wrongForm(err) {
		defer func() { out = p.advise(given, args, out) }()
	}
	names := p.flagNames(given)
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, isFlag := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && strings.Contains(err.Error(), "flag '--"+name+"'") {
			if retired := settings.RetiredError("--", name); retired != nil {
				return retired
			}
			return settings.DidYouMean(err, "--", name, names)
		}
		if !isFlag && strings.HasSuffix(strings.TrimSuffix(err.Error(), `"`), arg) {
			return settings.DidYouMean(err, "", arg, commandNames(p.app.Model().Commands))
		}
	}
	return err
}

// advise adds to what is wrong with a command line where the right form is told. A command that was not written, because it is
// the default, is not meant.
func (p *parser) advise(given *kingpin.ParseContext, args []string, err error) error {
	if m := regexp.MustCompile(`^expected command but got "([^"]*)"(.*)`).FindStringSubmatch(err.Error()); m != nil {
		err = fmt.Errorf("there is no command %s%s", m[1], m[2])
	}
	words, below := "", p.app.Model().Commands
	if c := selected(given); c != nil {
		words, below = c.FullCommand, c.Commands
		surplus, isSurplus := strings.CutPrefix(err.Error(), "unexpected ")
		if written := strings.Join(withoutFlags(args), " "); isSurplus && !strings.HasPrefix(written+" ", words+" ") {
			words = strings.TrimSuffix(strings.TrimSuffix(words, c.Name), " ")
			below = p.commandsBelow(words)
			err = fmt.Errorf("there is no command %s", surplus)
		}
	}
	if words != "" && len(below) > 0 {
		return fmt.Errorf("%w; commands of %s: %s", err, words, strings.Join(ownNames(below), ", "))
	}
	return fmt.Errorf("%w; see: %s", err, strings.TrimSpace("tsdbridge help "+words))
}

// selected returns the command of a command line, nil if there is none.
func selected(given *kingpin.ParseContext) *kingpin.CmdModel {
	if given == nil || given.SelectedCommand == nil {
		return nil
	}
	return given.SelectedCommand.Model()
}

// withoutFlags returns the words of a command line that are no flags.
func withoutFlags(args []string) (words []string) {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			words = append(words, arg)
		}
	}
	return words
}

// commandsBelow returns the commands of a command.
func (p *parser) commandsBelow(words string) []*kingpin.CmdModel {
	all := p.app.Model().Commands
	for word := range strings.FieldsSeq(words) {
		i := slices.IndexFunc(all, func(c *kingpin.CmdModel) bool { return c.Name == word })
		if i < 0 {
			return nil
		}
		all = all[i].Commands
	}
	return all
}

// ownNames returns the last words of commands.
func ownNames(commands []*kingpin.CmdModel) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

// wrongForm reports whether kingpin says that a command line lacks something, or has something too much.
func wrongForm(err error) bool {
	return regexp.MustCompile(`^(unexpected |expected command |must select a subcommand|required (argument|flag))`).MatchString(err.Error())
}

// commandNames returns the words of all commands.
func commandNames(commands []*kingpin.CmdModel) []string {
	var names []string
	for _, c := range commands {
		names = append(append(names, c.Name), commandNames(c.Commands)...)
	}
	return names
}

// flagNames returns the flags of the program and of the given command.
func (p *parser) flagNames(given *kingpin.ParseContext) []string {
	var names []string
	for _, f := range p.app.Model().Flags {
		names = append(names, f.Name)
	}
	if given != nil && given.SelectedCommand != nil {
		for _, f := range given.SelectedCommand.Model().Flags {
			names = append(names, f.Name)
		}
	}
	return names
}

package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/nearest"
)

// suggestFlag adds the most similar known name to an error about an unknown flag or command, and
// replaces the error about a retired flag.
func (p *parser) suggestFlag(given *kingpin.ParseContext, args []string, err error) error {
	if err == nil {
		return nil
	}
	names := p.flagNames(given)
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, isFlag := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && strings.Contains(err.Error(), "flag '--"+name+"'") {
			if retired := retiredError("--", name); retired != nil {
				return retired
			}
			return p.withNeighbour(err, "--", name, names)
		}
		if !isFlag && strings.HasSuffix(strings.TrimSuffix(err.Error(), `"`), arg) {
			return p.withNeighbour(err, "", arg, commandNames(p.app.Model().Commands))
		}
	}
	return err
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

// withNeighbour adds the name that is most similar to a word, if there is one.
func (p *parser) withNeighbour(err error, prefix, word string, names []string) error {
	if near := neighbour(word, names); near != "" {
		return fmt.Errorf("%w: did you mean %s%s?", err, prefix, near)
	}
	return err
}

// neighbour returns the name that is nearest to a word. If there is none, it returns the only name
// whose last element is the word.
func neighbour(word string, names []string) string {
	if near := nearest.Names(word, names, 1); len(near) > 0 {
		return near[0]
	}
	best := ""
	for _, name := range names {
		if strings.HasSuffix(name, "."+word) {
			if best != "" {
				return ""
			}
			best = name
		}
	}
	return best
}

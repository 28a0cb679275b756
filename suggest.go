package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
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

// neighbour returns the name with the fewest edits from a word: at most one, and one more for every
// eight letters of the word. If there is none, it returns the only name whose last element is the
// word.
func neighbour(word string, names []string) string {
	best, fewest := "", len(word)/8+2
	for _, name := range names {
		if n := edits(word, name); n < fewest {
			best, fewest = name, n
		}
	}
	if best != "" {
		return best
	}
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

// edits returns how many insertions, deletions, changes and swaps of neighbouring letters turn a
// into b.
func edits(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, now := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/ask"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/rules"
	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// checkCommands adds the commands that check and compare.
func (p *parser) checkCommands() {
	all := p.set.Group("check", "Check files of configuration, or the answers of an adapter.")
	p.checkConfigCommand(all)
	p.checkRulesCommand(all)
	p.checkWebConfigCommand(all)
	ask.CheckTSDCommand(&p.set, all)
}

// bad ends a command that has printed what is wrong with a file.
func bad() error { return &command.ExitError{Code: 1} }

func (p *parser) checkConfigCommand(all *kingpin.CmdClause) {
	var file string
	run := func(_ context.Context, _ adapter.Options, console command.Console) error {
		return checkConfig(file, p.args, console)
	}
	c := p.set.WithoutOptions(p.set.Add(all, "config", run, "Check a configuration file and the files that it names. It prints all errors, each with its line. The exit code is 0 if there are none, 1 if there are some."))
	c.Arg("file", "YAML file for --config.file.").Required().StringVar(&file)
}

func (p *parser) checkRulesCommand(all *kingpin.CmdClause) {
	var files []string
	run := func(_ context.Context, o adapter.Options, console command.Console) error {
		if err := rules.Check(o, files, console); err != nil {
			printErrors(console.Err, "rules", err)
			return bad()
		}
		return nil
	}
	c := p.set.WithoutOptions(p.set.Add(all, "rules", run, "Check rule files, as promtool does, with the languages of rules that it does not know. Exit codes as those of check config."))
	c.Arg("file", "Rule files.").Required().StringsVar(&files)
}

func (p *parser) checkWebConfigCommand(all *kingpin.CmdClause) {
	var file string
	run := func(_ context.Context, _ adapter.Options, console command.Console) error {
		if err := adapter.CheckWebConfig(file); err != nil {
			fmt.Fprintf(console.Err, "%s: %v\n", file, err)
			return bad()
		}
		fmt.Fprintf(console.Out, "%s is a valid web configuration\n", file)
		return nil
	}
	c := p.set.WithoutOptions(p.set.Add(all, "web-config", run, "Check a file with TLS and passwords, and the certificates that it names. Exit codes as those of check config."))
	c.Arg("file", "File for --web.config.file.").Required().StringVar(&file)
}

// checkConfig checks a configuration file together with the other flags of a command line, and prints
// what is wrong with it.
func checkConfig(file string, args []string, console command.Console) error {
	given, err := newParser(io.Discard).app.ParseContext(args)
	if err != nil {
		fmt.Fprintln(console.Err, "tsdbridge:", err)
		return bad()
	}
	flags := append(settings.GivenFlags(given), "--"+settings.ConfigFlag+"="+file)
	c, err := parseCommand(flags, io.Discard, console.Err)
	if err == nil {
		err = c.values.InFile(c.options.CheckFiles())
	}
	if err != nil {
		printErrors(console.Err, file, err)
		return bad()
	}
	fmt.Fprintf(console.Out, "%s is a valid configuration\n", file)
	return nil
}

// printErrors prints the errors of a file in the order of its lines, as FILE:LINE: TEXT, which editors
// and CI systems find the place by.
func printErrors(w io.Writer, file string, err error) {
	type found struct {
		line int
		text string
	}
	var all []found
	for _, one := range settings.EachError(err) {
		if _, ok := errors.AsType[interface {
			error
			Place() (file string, line int)
		}](one); ok { // it names its file
			all = append(all, found{0, one.Error()})
			continue
		}
		text := strings.TrimPrefix(one.Error(), "--"+settings.ConfigFlag+"="+file+": ")
		if rest, ok := strings.CutPrefix(text, "line "); ok {
			number, after, _ := strings.Cut(rest, ": ")
			if line, err := strconv.Atoi(number); err == nil {
				all = append(all, found{line, fmt.Sprintf("%s:%d: %s", file, line, after)})
				continue
			}
		}
		all = append(all, found{0, file + ": " + text})
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.line, b.line) })
	for _, one := range all {
		fmt.Fprintln(w, one.text)
	}
}

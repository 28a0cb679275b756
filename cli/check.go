package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/rules"
)

// Exit codes of the commands that check files.
const (
	checkedGood = 0
	checkedBad  = 1
)

// checkConfig checks a configuration file together with the other flags of a command line, and prints
// what is wrong with it.
func checkConfig(file string, args []string, stdout, stderr io.Writer) int {
	given, err := newParser(io.Discard).app.ParseContext(args)
	if err != nil {
		fmt.Fprintln(stderr, "tsdbridge:", err)
		return checkedBad
	}
	flags := append(givenFlags(given), "--"+configFlag+"="+file)
	c, err := parseCommandIn(variables(os.Environ()), flags, io.Discard, stderr)
	if err == nil {
		err = c.file.with(c.options.CheckFiles())
	}
	if err != nil {
		printErrors(stderr, file, err)
		return checkedBad
	}
	fmt.Fprintf(stdout, "%s is a valid configuration\n", file)
	return checkedGood
}

// printErrors prints the errors of a file in the order of its lines, as FILE:LINE: TEXT, which editors
// and CI systems find the place by.
func printErrors(w io.Writer, file string, err error) {
	type found struct {
		line int
		text string
	}
	var all []found
	for _, one := range eachError(err) {
		if _, ok := errors.AsType[interface {
			error
			Place() (file string, line int)
		}](one); ok { // it names its file
			all = append(all, found{0, one.Error()})
			continue
		}
		text := strings.TrimPrefix(one.Error(), "--"+configFlag+"="+file+": ")
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

// checkRules checks rule files.
func checkRules(c commandLine, stdout, stderr io.Writer) int {
	if err := rules.Check(c.options, c.ruleFiles, console(stdout, stderr)); err != nil {
		printErrors(stderr, "rules", err)
		return checkedBad
	}
	return checkedGood
}

// checkWebConfig checks a file with TLS and passwords.
func checkWebConfig(file string, stdout, stderr io.Writer) int {
	if err := adapter.CheckWebConfig(file); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", file, err)
		return checkedBad
	}
	fmt.Fprintf(stdout, "%s is a valid web configuration\n", file)
	return checkedGood
}

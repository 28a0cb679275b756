// Package cli is the command line: its flags, the configuration file and the environment that set
// them, help, completion and the manual page, and what each command does.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/tsdbridge/tsdbridge/cli/command"
)

// Run executes the program and returns its exit code: 0 for success, 1 for an error while running,
// 2 for an invalid command line or configuration. Some commands have more; see docs/flags.md.
func Run(args []string, stdout, stderr io.Writer) int {
	c, err := parseCommand(args, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "tsdbridge:", err)
		return 2
	}
	if c.run == nil {
		return c.exit
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	return exitCode(c.run(ctx, c.options, console(stdout, stderr)), stderr)
}

// exitCode returns the exit code for how a command ended, and prints the error. A signal ends
// commands before they are done.
func exitCode(err error, stderr io.Writer) int {
	if exit, ok := errors.AsType[*command.ExitError](err); ok {
		if exit.Err != nil {
			fmt.Fprintln(stderr, "tsdbridge:", exit.Err)
		}
		return exit.Code
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "tsdbridge: interrupted")
	default:
		fmt.Fprintln(stderr, "tsdbridge:", err)
	}
	return 1
}

// console returns what a command reads and prints.
func console(stdout, stderr io.Writer) command.Console {
	f, ok := stderr.(*os.File)
	return command.Console{In: os.Stdin, Out: stdout, Err: stderr, Terminal: ok && term.IsTerminal(int(f.Fd()))}
}

package cli

import (
	"context"
	"embed"
	"io"
	"strings"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
)

// completions are the scripts that complete command lines in shells. They ask the binary for words.
//
//go:embed completion
var completions embed.FS

// completionFlag asks for the words that may come next; kingpin answers.
const completionFlag = "--completion-bash"

// completed returns a command line without a last word that is no flag and no value of one: all words that
// may stand there are printed, and the shell takes those that begin as it does.
func completed(args []string) []string {
	last := len(args) - 1
	if last < 1 || strings.HasPrefix(args[last], "--") || strings.HasPrefix(args[last-1], "--") && last > 1 {
		return args
	}
	return args[:last]
}

// completionCommand adds "completion".
func completionCommand(s *command.Set) {
	var shell string
	run := func(_ context.Context, _ adapter.Options, console command.Console) error {
		return printCompletion(console.Out, shell)
	}
	c := s.WithoutOptions(s.Add(s.App, "completion", run, "Print the script that completes the command line in a shell, such as: source <(tsdbridge completion bash)"))
	c.Arg("shell", "bash, zsh or fish.").Required().EnumVar(&shell, "bash", "zsh", "fish")
}

// printCompletion prints the script of a shell.
func printCompletion(w io.Writer, shell string) error {
	script, err := completions.ReadFile("completion/tsdbridge." + shell)
	if err != nil {
		return err
	}
	_, err = w.Write(script)
	return err
}

package cli

import (
	"embed"
	"io"
	"strings"
	"time"
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

// packageCommands are the commands that packages and containers need.
func (p *parser) packageCommands() {
	const answering = "URL of the running adapter. Default: the one on this machine at --web.listen-address."
	h := p.app.Command(commandHealth, "Ask a running adapter whether it is ready, for health checks of containers. The exit code is 0 if it is, else 1. Give it the --config.file of the adapter, or its --web.listen-address.")
	h.Flag("adapter-url", answering).PlaceHolder("URL").StringVar(&p.health.URL)
	h.Flag("live", "It suffices that the process answers: its store may be away.").BoolVar(&p.health.Live)
	h.Flag("timeout", "How long the answer may take.").Default((5 * time.Second).String()).DurationVar(&p.health.Timeout)
	c := p.app.Command(commandCompletion, "Print the script that completes the command line in a shell, such as: source <(tsdbridge completion bash)")
	c.Arg("shell", "bash, zsh or fish.").Required().EnumVar(&p.shell, "bash", "zsh", "fish")
	p.app.Command(commandMan, "Print the manual page, such as: tsdbridge man | man -l -")
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

// Package command holds what the commands share: what they read and print, how they end, and the times of their flags.
package command

import (
	"fmt"
	"io"
	"sync"
)

// A Console is what a command reads and prints.
type Console struct {
	In  io.Reader
	Out io.Writer // results
	Err io.Writer // progress and complaints
	// Terminal means that a person watches Err.
	Terminal bool
}

// An ExitError ends a command with an exit code of its own. Err is nil if the output says it all.
type ExitError struct {
	Code int
	Err  error
}

// Error returns the text of the error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the error.
func (e *ExitError) Unwrap() error { return e.Err }

// The exit codes of commands, in addition to 0 for success, 1 for an error and 2 for a wrong command
// line.
const (
	// ExitUsage: the arguments are wrong, or a question could not be asked.
	ExitUsage = 2
	// ExitIncomplete: the command has come to its end, but left something out or found a difference.
	ExitIncomplete = 3
)

// A StatusLine is a line of progress, which is written anew on a terminal.
type StatusLine struct {
	Console Console
	mu      sync.Mutex // guards open
	open    bool       // the line has no end yet
}

// Print shows the progress.
func (s *StatusLine) Print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Console.Terminal {
		fmt.Fprintf(s.Console.Err, "\r%s\x1b[K", text)
		s.open = true
		return
	}
	fmt.Fprintln(s.Console.Err, text)
}

// Write implements io.Writer: it prints whole lines between those of the progress.
func (s *StatusLine) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	return s.Console.Err.Write(b)
}

// PrintAbove prints a line of results to out, between those of the progress.
func (s *StatusLine) PrintAbove(out io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	fmt.Fprintln(out, text)
}

// Close ends the line.
func (s *StatusLine) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// end needs mu.
func (s *StatusLine) end() {
	if s.open {
		fmt.Fprintln(s.Console.Err)
		s.open = false
	}
}

package adapter

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

// A ticker is a line of progress, which is written anew on a terminal.
type statusLine struct {
	console Console
	mu      sync.Mutex // guards open
	open    bool       // the line has no end yet
}

// print shows the progress.
func (s *statusLine) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.console.Terminal {
		fmt.Fprintf(s.console.Err, "\r%s\x1b[K", text)
		s.open = true
		return
	}
	fmt.Fprintln(s.console.Err, text)
}

// Write implements io.Writer: it prints whole lines between those of the progress.
func (s *statusLine) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	return s.console.Err.Write(b)
}

// printAbove prints a line of results to out, between those of the progress.
func (s *statusLine) printAbove(out io.Writer, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	fmt.Fprintln(out, text)
}

// close ends the line.
func (s *statusLine) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// end needs mu.
func (s *statusLine) end() {
	if s.open {
		fmt.Fprintln(s.console.Err)
		s.open = false
	}
}

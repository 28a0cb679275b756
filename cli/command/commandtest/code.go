// Package commandtest runs commands for their tests.
package commandtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/cli/command"
)

// Code runs a command and returns its exit code and all that it prints, the last error included.
func Code(t *testing.T, run func(command.Console) error) (code int, out string) {
	t.Helper()
	var text, said strings.Builder
	err := run(command.Console{Out: &text, Err: &said})
	if exit, ok := errors.AsType[*command.ExitError](err); ok {
		return exit.Code, fmt.Sprintf("%s%s%v", text.String(), said.String(), exit.Err)
	}
	if err != nil {
		t.Fatalf("not an exit code: %v", err)
	}
	return 0, text.String() + said.String()
}

package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

// Help of a command is not an error, whatever the command wants besides.
func TestHelpOfEachCommand(t *testing.T) {
	var each func(commands []*kingpin.CmdModel)
	each = func(commands []*kingpin.CmdModel) {
		for _, c := range commands {
			words := strings.Fields(c.FullCommand)
			for _, args := range [][]string{append(slices.Clone(words), "--help"), append(slices.Clone(words), "-h"), append([]string{"--help"}, words...), append([]string{"help"}, words...)} {
				var out, wrong strings.Builder
				if code := Run(args, &out, &wrong); code != 0 || wrong.Len() > 0 || !strings.Contains(out.String(), c.FullCommand) {
					t.Errorf("%q: exit code %d, %d bytes of help, errors %q", args, code, out.Len(), wrong.String())
				}
			}
			each(c.Commands)
		}
	}
	each(newParser(&strings.Builder{}).app.Model().Commands)
}

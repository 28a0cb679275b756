package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

// The manual page names every command and flag, and no line of a text is taken for a request of roff.
func TestManPage(t *testing.T) {
	app := newParser(io.Discard).app.Model()
	var page strings.Builder
	if err := manPage(&page, app); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(page.String(), `\-`, "-")
	for _, f := range app.Flags {
		if !internalFlag(f) && !strings.Contains(text, "\\fB--"+f.Name+"\\fR") {
			t.Errorf("the page lacks --%s", f.Name)
		}
	}
	var commands func(all []*kingpin.CmdModel)
	commands = func(all []*kingpin.CmdModel) {
		for _, c := range all {
			if len(c.Commands) == 0 && !strings.Contains(text, ".SS \\fBtsdbridge "+c.FullCommand+"\\fR") {
				t.Errorf("the page lacks the command %s", c.FullCommand)
			}
			commands(c.Commands)
		}
	}
	commands(app.Commands)
	request := regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|B|I|RI)( |$)`)
	for line := range strings.Lines(page.String()) {
		if strings.HasPrefix(line, ".") && !request.MatchString(strings.TrimSpace(line)) || strings.HasPrefix(line, "'") {
			t.Errorf("%q is a request of roff", line)
		}
	}
	if got, want := roff(`.a\b-c`), `\&.a\eb\-c`; got != want {
		t.Errorf("roff: %s, want %s", got, want)
	}
}

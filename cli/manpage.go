package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
)

// manHead and manTail are what the definitions of flags do not say. In both, \- is a hyphen that is typed.
const (
	manHead = `.SH NAME
tsdbridge \- metrics of Prometheus, Graphite and OpenTSDB in the OpenTSDB schema
.SH SYNOPSIS
.B tsdbridge
.RI [ flags ]
.RI [ command ]
.SH DESCRIPTION
tsdbridge stores metrics of Prometheus, Graphite and OpenTSDB clients in the OpenTSDB schema, on Apache HBase
or in an embedded store, and answers queries in PromQL, in Graphite's language and in OpenTSDB's.
Without a command it serves.
.PP
Each flag below OPTIONS is also a key of the YAML file that
.B \-\-config.file
names, flat or nested at the dots. The command line wins over the file.
`
	manTail = `.SH FILES
.TP
.I /etc/tsdbridge/tsdbridge.yml
The configuration of the service that the packages install.
.TP
.I /var/lib/tsdbridge
The store and the log of this service.
.SH SIGNALS
.TP
.B SIGTERM, SIGINT
Requests under way finish, points in memory are put into the tables, the process ends.
A second one ends it at once; nothing acknowledged is lost.
.SH EXIT STATUS
0 for success, 1 for an error while running, 2 for an invalid command line or configuration.
Some commands have more; their descriptions tell them.
`
)

// manPageCommand adds "man".
func manPageCommand(s *command.Set) {
	run := func(_ context.Context, _ adapter.Options, console command.Console) error {
		return manPage(console.Out, newParser(io.Discard).app.Model())
	}
	s.WithoutOptions(s.Add(s.App, "man", run, "Print the manual page, such as: tsdbridge man | man -l -"))
}

// manPage prints the manual page of the command line, in roff.
func manPage(w io.Writer, app *kingpin.ApplicationModel) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH TSDBRIDGE 1 \"\" %q \"User Commands\"\n%s.SH COMMANDS\n", roff(app.Version), manHead)
	for _, c := range app.Commands {
		manCommand(&b, c)
	}
	b.WriteString(".SH OPTIONS\n")
	manFlags(&b, app.Flags)
	b.WriteString(manTail)
	_, err := io.WriteString(w, b.String())
	return err
}

// manCommand prints a command with its own flags, and the commands below it.
func manCommand(b *strings.Builder, c *kingpin.CmdModel) {
	for _, below := range c.Commands {
		manCommand(b, below)
	}
	if len(c.Commands) > 0 || c.Hidden {
		return
	}
	fmt.Fprintf(b, ".SS \\fBtsdbridge %s\\fR", roff(c.FullCommand))
	for _, a := range c.Args {
		if a.Required {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(a.Name))
		} else {
			fmt.Fprintf(b, " [\\fI%s\\fR]", roff(a.Name))
		}
	}
	fmt.Fprintf(b, "\n%s\n", roff(c.Help))
	for _, a := range c.Args {
		fmt.Fprintf(b, ".TP\n\\fI%s\\fR\n%s\n", roff(a.Name), roff(a.Help))
	}
	manFlags(b, c.Flags)
}

func manFlags(b *strings.Builder, flags []*kingpin.FlagModel) {
	for _, f := range flags {
		if internalFlag(f) {
			continue
		}
		fmt.Fprintf(b, ".TP\n\\fB\\-\\-%s\\fR", roff(f.Name))
		if !f.IsBoolFlag() {
			fmt.Fprintf(b, "=\\fI%s\\fR", roff(f.FormatPlaceHolder()))
		}
		fmt.Fprintf(b, "\n%s\n", roff(f.Help))
	}
}

// internalFlag reports whether no document lists a flag.
func internalFlag(f *kingpin.FlagModel) bool {
	return f.Hidden || f.Name == "help" || strings.HasPrefix(f.Name, "help-") || strings.HasPrefix(f.Name, "completion-")
}

// roff escapes a text of one paragraph.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

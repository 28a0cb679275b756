package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Blocks of the README and the handbook are followed word for word. Their kinds:
//
//	sh server   the command that starts the adapter; without it, it is started as by "make run"
//	sh test     commands that are run, in the order of the page
//	json output what the commands before it print; … stands for any text
//
// Ports and the directory of the store are replaced by free ones, and nothing else.
const (
	serverBlock = "sh server"
	testBlock   = "sh test"
	outputBlock = " output"
)

// A fencedBlock is a block of a page.
type fencedBlock struct{ info, text string }

func fencedBlocks(page string) (all []fencedBlock) {
	for _, m := range regexp.MustCompile("(?ms)^ *```([^\n]*)\n(.*?)^ *```$").FindAllStringSubmatch(page, -1) {
		all = append(all, fencedBlock{m[1], m[2]})
	}
	return all
}

// TestHandbook runs the commands of each page against an adapter of its own.
func TestHandbook(t *testing.T) {
	needE2E(t)
	pages, err := filepath.Glob(filepath.Join(moduleRoot, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for _, page := range append(pages, filepath.Join(moduleRoot, "README.md")) {
		blocks := fencedBlocks(readFile(t, page))
		if !slices.ContainsFunc(blocks, func(b fencedBlock) bool { return b.info == testBlock }) {
			continue
		}
		followed++
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			followPage(t, blocks)
		})
	}
	if followed < 2 {
		t.Errorf("%d pages have commands; where are they?", followed)
	}
}

// followPage runs the commands of a page. Commands whose output is shown are run again until it is right: lines of
// carbon and of telnet have no answer.
func followPage(t *testing.T, blocks []fencedBlock) {
	t.Helper()
	s := startShown(t, blocks)
	for i, b := range blocks {
		if b.info != testBlock {
			continue
		}
		if i+1 == len(blocks) || !strings.HasSuffix(blocks[i+1].info, outputBlock) {
			if out, err := s.run(t, b.text); err != nil {
				t.Fatalf("%s%s%v", b.text, out, err)
			}
			continue
		}
		want := outputPattern(blocks[i+1].text)
		eventually(t, waitTimeout, "the output of "+b.text, func() error {
			out, err := s.run(t, b.text)
			if err == nil && !want.MatchString(out) {
				err = errors.New("which is not what the page shows")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", out, err)
			}
			return nil
		})
	}
}

// outputPattern returns what matches an output that a page shows, whatever its blanks and line ends are.
func outputPattern(shown string) *regexp.Regexp {
	var parts []string
	for part := range strings.SplitSeq(strings.Join(strings.Fields(shown), " "), "…") {
		parts = append(parts, strings.ReplaceAll(regexp.QuoteMeta(part), " ", `\s+`))
	}
	return regexp.MustCompile(`(?s)` + strings.Join(parts, ".*"))
}

// A shownServer is the adapter of a page.
type shownServer struct {
	*adapter
	ports *strings.Replacer
	path  string // PATH with the programs that a reader has
}

// startShown starts the adapter as the page says.
func startShown(t *testing.T, blocks []fencedBlock) *shownServer {
	t.Helper()
	command := makeRun(t)
	if i := slices.IndexFunc(blocks, func(b fencedBlock) bool { return b.info == serverBlock }); i >= 0 {
		command = blocks[i].text
	}
	words := strings.Fields(strings.ReplaceAll(command, "\\\n", " "))
	var args []string
	for _, w := range words[1:] {
		switch name, _, _ := strings.Cut(w, "="); {
		case strings.HasSuffix(name, ".listen-address"):
			w = name + "=127.0.0.1:0"
		case name == "--storage.path":
			w = name + "=./data"
		}
		args = append(args, w)
	}
	a := startAdapter(t, args...)
	ports := []string{"localhost:9201", a.addr}
	replace := func(shown, addr string) {
		ports = append(ports, "localhost:"+shown, addr, "localhost/"+shown, strings.Replace(addr, ":", "/", 1))
	}
	if strings.Contains(command, "--carbon.listen-address") {
		replace("2003", a.carbonAddr(t))
	}
	if strings.Contains(command, "--opentsdb.listen-address") {
		replace("4242", a.opentsdbAddr(t))
	}
	return &shownServer{a, strings.NewReplacer(ports...), readersPath(t, a.base)}
}

// makeRun returns the command of "make run".
func makeRun(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^run: build.*\n\t@exec \./(tsdbridge .*)$`).FindStringSubmatch(readFile(t, filepath.Join(moduleRoot, "Makefile")))
	if m == nil {
		t.Fatal("make run no longer starts the adapter as the tests know it")
	}
	return m[1]
}

// readersPath returns a PATH with tsdbridge. Commands that look for the adapter at the port that the pages show find it.
func readersPath(t *testing.T, adapter string) string {
	t.Helper()
	dir := t.TempDir()
	binary, err := filepath.Abs(adapterBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"tsdbridge": `case "$1" in version | check) exec "` + binary + `" "$@" ;; esac
exec "` + binary + `" "$@" --adapter-url=` + adapter,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script+"\n"), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// run runs commands in the checkout as their reader would, and returns what they print.
func (s *shownServer) run(t *testing.T, commands string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", s.ports.Replace(commands))
	cmd.Dir = moduleRoot
	cmd.Env = append(os.Environ(), "PATH="+s.path)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, problems.String())
	}
	return string(out), err
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// A block is a fenced block of a page.
type block struct {
	page, info, text string
	line             int
}

func (b block) String() string { return fmt.Sprintf("%s:%d (%s)", b.page, b.line, b.info) }

// blocks returns the fenced blocks of the README and the handbook.
func blocks(t *testing.T) (all []block) {
	t.Helper()
	fence := regexp.MustCompile("(?ms)^ *```([^\n]*)\n(.*?)^ *```$")
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md") {
		file, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(file)
		for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
			all = append(all, block{page, text[m[2]:m[3]], text[m[4]:m[5]], 1 + strings.Count(text[:m[0]], "\n")})
		}
	}
	if len(all) == 0 {
		t.Fatal("the handbook has no blocks")
	}
	return all
}

// Each block of YAML or JSON can be read; one that is marked as a configuration file is one.
func TestBlocksParse(t *testing.T) {
	t.Chdir(root)
	for _, b := range blocks(t) {
		kind, mark, _ := strings.Cut(b.info, " ")
		var err error
		switch kind {
		case "yaml":
			if err = parsesAsYAML(b.text, mark); err == nil && strings.HasPrefix(b.text, "groups:\n") {
				err = areRules(t, b.text)
			}
		case "json":
			// … stands for text that differs from one answer to the next.
			err = parsesAsJSON(strings.ReplaceAll(strings.ReplaceAll(b.text, `"…"`, `"0"`), "…", "0"))
			if mark == "output" {
				err = nil // a pattern, which the end-to-end tests compare with a real answer
			}
		case "sh", "text", "ini", "python", "":
		default:
			err = fmt.Errorf("unknown kind %q", kind)
		}
		if err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
}

func parsesAsYAML(text, mark string) error {
	if mark == "config" {
		_, err := newParser(io.Discard).server.ParseFile([]byte(text))
		return err
	}
	var v any
	return yaml.Unmarshal([]byte(text), &v)
}

// areRules returns what is wrong with a file of rules.
func areRules(t *testing.T, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if Run([]string{"check", "rules", file}, io.Discard, &out) != 0 {
		return errors.New(out.String())
	}
	return nil
}

func parsesAsJSON(text string) error {
	if !json.Valid([]byte(text)) {
		return errors.New("not JSON")
	}
	return nil
}

// Each command of the program that a page shows has a command line that the program takes.
func TestCommandsShown(t *testing.T) {
	t.Chdir(root)
	shown := 0
	for _, b := range blocks(t) {
		if !strings.HasPrefix(b.info, "sh") {
			continue
		}
		for _, line := range commandLines(b.text) {
			shown++
			if err := takes(line); err != nil {
				t.Errorf("%s: %s: %v", b, line, err)
			}
		}
	}
	if shown < 20 {
		t.Errorf("only %d commands were found", shown)
	}
}

// curl takes brackets and braces of an address for patterns, unless it is told not to (-g).
func TestAddressesShown(t *testing.T) {
	t.Chdir(root)
	pattern := regexp.MustCompile(`^curl .*https?://[^'" ]*[][{}]`)
	option := regexp.MustCompile(` -[a-zA-Z]*g[a-zA-Z]* `)
	for _, b := range blocks(t) {
		for line := range strings.Lines(b.text) {
			if line = strings.TrimSpace(line); pattern.MatchString(line) && !option.MatchString(line) {
				t.Errorf("%s: %s: want -g", b, line)
			}
		}
	}
}

// takes returns an error if the program refuses a command line. "…" stands for further flags.
func takes(line string) error {
	words, err := shellWords(line)
	if err != nil {
		return err
	}
	var args []string
	for _, w := range words[1:] {
		if w != "…" {
			args = append(args, w)
		}
	}
	p := newParser(io.Discard)
	if args, err = settings.PlainBools(p.app, args); err != nil {
		return err
	}
	given, err := p.app.ParseContext(args)
	if err != nil {
		return p.suggestFlag(given, args, err)
	}
	if given.SelectedCommand == nil && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("no command %s", args[0])
	}
	return nil
}

// commandLines returns the commands of tsdbridge in a block, each without what it is piped from and to.
func commandLines(text string) (lines []string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	start := regexp.MustCompile(`(?:^|[|&;(] *)(tsdbridge .*)`)
	for line := range strings.Lines(text) {
		if m := start.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			lines = append(lines, m[1])
		}
	}
	return lines
}

// shellWords returns the words of the first command of a line as a shell would read them. It knows quotes, comments
// and where a command ends, and nothing else.
func shellWords(line string) (words []string, err error) {
	var word strings.Builder
	inWord, quote := false, rune(0)
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ':
			end()
		case !inWord && c == '#', c == '|', c == '>', c == '&', c == ';':
			end()
			return words, nil
		default:
			inWord = true
			word.WriteRune(c)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote without its end")
	}
	end()
	return words, nil
}

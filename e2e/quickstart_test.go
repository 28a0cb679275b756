package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readmeAddress is where the README's adapter listens. The tests replace nothing else in the
// README's text.
const readmeAddress = "localhost:9201"

// TestQuickStart follows the README's quick start word for word: the adapter without a flag, a
// Prometheus with the printed lines, and the printed commands.
func TestQuickStart(t *testing.T) {
	needE2E(t)
	t.Parallel()
	section := readmeSection(t, "Quick start")
	commands := indentedLines(section)
	if len(commands) != 6 || commands[0] != "make run" {
		t.Fatalf("the quick start has other commands than this test knows: %q", commands)
	}
	if makefile := readFile(t, filepath.Join(moduleRoot, "Makefile")); !regexp.MustCompile(`(?m)^run: build.*\n\t@exec \./tsdbridge --carbon\.listen-address=localhost:2003$`).MatchString(makefile) {
		t.Error("make run is no longer the binary with carbon's port")
	}
	a := startAdapter(t, withCarbon) // no flag but free ports, in an empty directory
	if _, err := os.Stat(filepath.Join(a.dir, "data")); err != nil {
		t.Errorf("the store is not in ./data: %v", err)
	}
	p := startPrometheus(t, "\n"+strings.ReplaceAll(yamlBlock(t, section), readmeAddress, a.addr))
	p.Scrape(t, map[string]string{"self": p.addr})

	run := func(command string) string { return shell(t, strings.ReplaceAll(command, readmeAddress, a.addr)) }
	run(commands[2])
	if out := run(commands[3]); !strings.Contains(out, `"from":"me"`) || !strings.Contains(out, `"42"]`) {
		t.Errorf("%s\nprinted %s", commands[3], out)
	}
	// nc is not installed on every machine: its input is sent in another way.
	line, _, found := strings.Cut(commands[4], " | nc -q1 localhost 2003")
	if !found {
		t.Fatalf("the quick start sends a line by %s", commands[4])
	}
	sendCarbon(t, "tcp", a.carbonAddr(t), shell(t, line))
	eventually(t, waitTimeout, "the line of carbon", func() error {
		if out := run(commands[5]); !strings.Contains(out, `"target": "demo.greeting"`) || !strings.Contains(out, "[42.0, ") {
			return fmt.Errorf("%s\nprinted %s", commands[5], out)
		}
		return nil
	})
	eventually(t, 2*waitTimeout, "the first samples of Prometheus", func() error {
		if out := run(commands[1]); !strings.Contains(out, `"__name__":"up"`) || !strings.Contains(out, `"1"]`) {
			return fmt.Errorf("%s\nprinted %s", commands[1], out)
		}
		return nil
	})
}

// TestReadmeRemoteRead starts a Prometheus with the README's lines for reading.
func TestReadmeRemoteRead(t *testing.T) {
	needE2E(t)
	t.Parallel()
	_, section, found := strings.Cut(readmeSection(t, "Clients"), "**Prometheus, reading.**")
	if !found {
		t.Fatal("the README has no paragraph for Prometheus, reading")
	}
	a := startAdapter(t)
	shell(t, "echo 'greeting{from=\"me\"} 42' | go tool promtool push metrics "+a.base+"/")
	p := startPrometheus(t, "\n"+strings.ReplaceAll(yamlBlock(t, section), readmeAddress, a.addr))
	out := shell(t, "curl '"+p.URL("/api/v1/query?query=greeting")+"'")
	if !strings.Contains(out, `"42"]`) {
		t.Errorf("greeting through Prometheus = %s", out)
	}
}

// shell runs a command of the README in the checkout, as its reader would, and returns what it
// prints.
func shell(t testing.TB, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = moduleRoot
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, problems.String())
	}
	return string(out)
}

// readmeSection returns the text below a heading of the README.
func readmeSection(t testing.TB, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(readFile(t, filepath.Join(moduleRoot, "README.md")), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the README has no section %q", heading)
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	return section
}

// indentedLines returns the commands of a section.
func indentedLines(section string) (lines []string) {
	inYAML := false
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "```") {
			inYAML = !inYAML
		}
		if command, ok := strings.CutPrefix(line, "    "); ok && !inYAML {
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	return lines
}

// yamlBlock returns the first block of YAML.
func yamlBlock(t testing.TB, section string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(section)
	if m == nil {
		t.Fatal("no block of YAML in the README's section")
	}
	return m[1]
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

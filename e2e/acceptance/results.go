package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// results are the outcomes of the tests, by package.
type results struct {
	packages map[string]*outcome
	sizes    []string // the amounts of tests with an adjustable size
	failed   []string
}

// outcome counts the tests of one package.
type outcome struct {
	passed, failed, skipped int
	took                    time.Duration
}

func newResults() *results { return &results{packages: map[string]*outcome{}} }

// read takes events until the end of r. It copies the output of failing tests and packages to log.
func (s *results) read(r io.Reader, log io.Writer) error {
	output := map[string][]string{} // of running tests, by package and test
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(log, lines.Text()) // go build writes plain text
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			output[key] = append(output[key], e.Output)
			s.noteSize(e)
		case "pass", "fail", "skip":
			if e.Action == "fail" {
				s.noteFailure(e)
				fmt.Fprint(log, strings.Join(output[key], ""))
				if e.Test == "" {
					printUnfinished(output, key, log)
				}
			}
			delete(output, key)
			s.add(e)
		}
	}
	return lines.Err()
}

// printUnfinished prints the output of tests of a package that have no outcome, because the process
// ended before. prefix is the package's key.
func printUnfinished(output map[string][]string, prefix string, log io.Writer) {
	for _, key := range slices.Sorted(maps.Keys(output)) {
		if strings.HasPrefix(key, prefix) && key != prefix {
			fmt.Fprint(log, strings.Join(output[key], ""))
			delete(output, key)
		}
	}
}

// noteFailure lists a failing test. It also lists a package that failed without a failing test,
// such as one that did not compile.
func (s *results) noteFailure(e event) {
	if p := s.packages[e.Package]; e.Test != "" || p == nil || p.failed == 0 {
		s.failed = append(s.failed, strings.TrimSpace(short(e.Package)+" "+e.Test))
	}
}

func (s *results) noteSize(e event) {
	_, size, ok := strings.Cut(e.Output, scale.Marker)
	if ok && e.Test != "" {
		s.sizes = append(s.sizes, short(e.Package)+" | "+e.Test+" | "+strings.TrimSpace(size))
	}
}

func (s *results) add(e event) {
	p := s.packages[e.Package]
	if p == nil {
		p = &outcome{}
		s.packages[e.Package] = p
	}
	switch {
	case e.Test == "":
		p.took = time.Duration(e.Elapsed * float64(time.Second))
	case e.Action == "pass":
		p.passed++
	case e.Action == "fail":
		p.failed++
	default:
		p.skipped++
	}
}

func short(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, "github.com/tsdbridge/tsdbridge"), "/")
}

// writeTo writes the results as Markdown.
func (s *results) writeTo(w io.Writer) {
	names := make([]string, 0, len(s.packages))
	for name, p := range s.packages {
		if p.passed+p.failed+p.skipped > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fmt.Fprint(w, "| package | passed | failed | skipped | seconds |\n|---|---|---|---|---|\n")
	for _, name := range names {
		p := s.packages[name]
		fmt.Fprintf(w, "| `./%s` | %d | %d | %d | %.0f |\n", short(name), p.passed, p.failed, p.skipped, p.took.Seconds())
	}
	slices.Sort(s.sizes)
	fmt.Fprint(w, "\n## Sizes\n\n| package | test | size |\n|---|---|---|\n")
	for _, size := range slices.Compact(s.sizes) {
		fmt.Fprintf(w, "| %s |\n", size)
	}
	if len(s.failed) > 0 {
		fmt.Fprint(w, "\n## Failed\n\n- "+strings.Join(s.failed, "\n- ")+"\n")
	}
}

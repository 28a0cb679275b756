package main

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// contents is the page that lists all pages of the handbook.
const contents = "docs/README.md"

// rewrite has the tests of pages that are made from code write them.
var rewrite = flag.Bool("rewrite", false, "rewrite pages that are made from code")

// decisions is the page that lists all decisions.
const decisions = "docs/decisions/README.md"

// handbook returns the paths of the README and of all pages of the handbook.
func handbook(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(pages, "README.md")
}

// developerPages returns the paths of the pages that only developers read.
func developerPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/decisions/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(pages, decisions, "ARCHITECTURE.md", "CONTRIBUTING.md")
}

// Each link of a page leads to a file that exists, and to a heading of it.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range append(handbook(t), developerPages(t)...) {
		text := withoutCode(readFile(t, page))
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(m[1], "://") {
				checkLink(t, page, m[1])
			}
		}
	}
}

func checkLink(t *testing.T, page, link string) {
	t.Helper()
	file, anchor, _ := strings.Cut(link, "#")
	target := page
	if file != "" {
		target = path.Join(path.Dir(page), file)
	}
	if _, err := os.Stat(target); err != nil {
		t.Errorf("%s: the link %s leads nowhere: %v", page, link, err)
		return
	}
	if anchor != "" && !slices.Contains(anchors(readFile(t, target)), anchor) {
		t.Errorf("%s: the link %s leads to no heading of %s", page, link, target)
	}
}

// anchors returns the names of the headings of a page, as GitHub makes them.
func anchors(text string) (names []string) {
	heading := regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	noName := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for _, m := range heading.FindAllStringSubmatch(withoutCode(text), -1) {
		name := noName.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	for _, m := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// withoutCode returns a page without its fenced blocks.
func withoutCode(text string) string {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(text, "")
}

// Each page of the handbook is in its table of contents.
func TestContents(t *testing.T) {
	text := readFile(t, contents)
	for _, page := range handbook(t) {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(text, "]("+name+")") {
			t.Errorf("%s has no line for %s", contents, name)
		}
	}
}

// Each decision is in the list of decisions, and has what a decision needs.
func TestDecisions(t *testing.T) {
	list := readFile(t, decisions)
	date := regexp.MustCompile(`(?m)^20\d\d-\d\d-\d\d$`)
	pages, err := filepath.Glob("docs/decisions/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if name := strings.TrimPrefix(page, "docs/decisions/"); !strings.Contains(list, "]("+name+")") {
			t.Errorf("%s has no line for %s", decisions, name)
		}
		text := readFile(t, page)
		for _, heading := range []string{"\n## Context\n", "\n## Choice\n"} {
			if !strings.Contains(text, heading) {
				t.Errorf("%s lacks %q", page, heading)
			}
		}
		if !date.MatchString(text) {
			t.Errorf("%s has no date", page)
		}
	}
}

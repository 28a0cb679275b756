// Package site makes a site of the pages of the handbook: HTML that needs no JavaScript, and an index for a search
// that does. It opens no file and serves nothing.
package site

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
)

// contents is the page that lists all others, in their order.
const contents = "README.md"

//go:embed page.html
var pageText string

//go:embed docs.css docs.js
var own embed.FS

// A link is an entry of the table of contents, of the site or of a page.
type link struct {
	Path, Title string
	Here        bool
}

// A chapter is a heading of the table of contents with its pages.
type chapter struct {
	Title string
	Pages []link
}

// An entry is a section of a page in the index of the search.
type entry struct {
	Path  string `json:"p"`
	Title string `json:"t"`
	Head  string `json:"h,omitempty"`
	Text  string `json:"x"`
}

// Render returns the files of the site by their names. source has the pages, README.md among them, and what they show.
func Render(source fs.FS) (map[string][]byte, error) {
	layout, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, err
	}
	s := &renderer{source: source, layout: layout, files: map[string][]byte{}}
	names, err := fs.Glob(source, "*.md")
	if err != nil {
		return nil, err
	}
	if err := s.readContents(); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := s.page(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if s.files["search.json"], err = json.Marshal(s.index); err != nil {
		return nil, err
	}
	return s.files, errorsOf(s.copy(own, "."), s.copy(source, "."), s.copy(source, "img"))
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

type renderer struct {
	source   fs.FS
	layout   *template.Template
	chapters []chapter
	index    []entry
	files    map[string][]byte
}

// copy takes over the files of a directory that are no pages.
func (s *renderer) copy(from fs.FS, dir string) error {
	files, err := fs.ReadDir(from, dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := path.Join(dir, f.Name())
		if f.IsDir() || path.Ext(name) == ".md" || path.Ext(name) == ".go" {
			continue
		}
		if s.files[name], err = fs.ReadFile(from, name); err != nil {
			return err
		}
	}
	return nil
}

// page renders a page.
func (s *renderer) page(name string) error {
	text, err := fs.ReadFile(s.source, name)
	if err != nil {
		return err
	}
	d, err := parse(text)
	if err != nil {
		return err
	}
	s.index = append(s.index, d.entries(outName(name))...)
	var page bytes.Buffer
	if err := s.layout.Execute(&page, struct {
		Title    string
		Body     template.HTML
		Chapters []chapter
		Sections []link
	}{d.title, template.HTML(d.html), s.marked(outName(name)), d.sections}); err != nil { //nolint:gosec // our own pages
		return err
	}
	s.files[outName(name)] = page.Bytes()
	return nil
}

// marked returns the table of contents with the page that is shown.
func (s *renderer) marked(name string) (all []chapter) {
	for _, c := range s.chapters {
		marked := chapter{Title: c.Title}
		for _, l := range c.Pages {
			l.Here = l.Path == name
			marked.Pages = append(marked.Pages, l)
		}
		all = append(all, marked)
	}
	return all
}

// readContents reads the chapters of the table of contents: headings, and lists that begin with links.
// Pages in other folders are not in the site.
func (s *renderer) readContents() error {
	text, err := fs.ReadFile(s.source, contents)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			s.chapters = append(s.chapters, chapter{Title: title})
			continue
		}
		rest, ok := strings.CutPrefix(line, "- [")
		title, rest, linked := strings.Cut(rest, "](")
		if target, _, ends := strings.Cut(rest, ")"); ok && linked && ends && len(s.chapters) > 0 && path.Ext(target) == ".md" && !strings.Contains(target, "/") {
			last := &s.chapters[len(s.chapters)-1]
			last.Pages = append(last.Pages, link{Path: outName(target), Title: title})
		}
	}
	return nil
}

// outName returns the name of the file that a page becomes.
func outName(name string) string {
	if name == contents {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

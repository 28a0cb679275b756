package site

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// accessible lets the keyboard scroll what may be wider than the window. A header without a text is none.
var accessible = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`, "<th></th>", "<td></td>")

// A document is a page as HTML, with what the site shows of it elsewhere.
type document struct {
	title    string
	html     string
	sections []link // its headings of the second level
	parts    []part
}

// A part is the text below a heading.
type part struct {
	head, anchor string
	text         strings.Builder
}

// parse renders a page of Markdown. Links to other pages become links to their HTML; links to files that the site
// does not have become their text.
func parse(source []byte) (*document, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))
	root := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(githubIDs{}))))
	d := &document{}
	var outside []*ast.Link
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			d.heading(n, source)
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			if to, inside := siteLink(string(n.Destination)); inside {
				n.Destination = []byte(to)
			} else {
				outside = append(outside, n)
			}
		case *ast.Text:
			d.add(n.Value(source))
			d.add([]byte(" "))
		case *ast.FencedCodeBlock:
			d.add(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	if d.title == "" {
		return nil, errors.New("no title")
	}
	for _, l := range outside {
		unlink(l)
	}
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, source, root); err != nil {
		return nil, err
	}
	d.html = accessible.Replace(out.String())
	return d, nil
}

func (d *document) heading(n *ast.Heading, source []byte) {
	var title strings.Builder
	_ = ast.Walk(n, func(in ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := in.(*ast.Text); ok && entering {
			title.Write(t.Value(source))
		}
		return ast.WalkContinue, nil
	})
	id, _ := n.AttributeString("id")
	anchor, _ := id.([]byte)
	if n.Level == 1 {
		d.title = title.String()
	}
	if n.Level == 2 {
		d.sections = append(d.sections, link{Path: "#" + string(anchor), Title: title.String()})
	}
	d.parts = append(d.parts, part{head: title.String(), anchor: string(anchor)})
}

func (d *document) add(text []byte) {
	if len(d.parts) > 0 {
		d.parts[len(d.parts)-1].text.Write(text)
	}
}

// entries returns the page's entries of the index of the search.
func (d *document) entries(name string) (all []entry) {
	for i := range d.parts {
		p := &d.parts[i]
		e := entry{Path: name, Title: d.title, Text: strings.Join(strings.Fields(p.text.String()), " ")}
		if i > 0 {
			e.Path, e.Head = name+"#"+p.anchor, p.head
		}
		all = append(all, e)
	}
	return all
}

// siteLink returns where a link of a page leads in the site; false: the site does not have it.
func siteLink(to string) (string, bool) {
	switch file, anchor, _ := strings.Cut(to, "#"); {
	case strings.Contains(to, "://"), file == "":
		return to, true
	case strings.HasPrefix(file, "../"), path.Ext(file) == ".md" && strings.Contains(file, "/"):
		return "", false
	case path.Ext(file) == ".md" && anchor != "":
		return outName(file) + "#" + anchor, true
	case path.Ext(file) == ".md":
		return outName(file), true
	}
	return to, true
}

// unlink replaces a link by what it shows.
func unlink(l *ast.Link) {
	for c := l.FirstChild(); c != nil; {
		next := c.NextSibling()
		l.Parent().InsertBefore(l.Parent(), l, c)
		c = next
	}
	l.Parent().RemoveChild(l.Parent(), l)
}

// githubIDs makes the names of headings as GitHub does, since the pages are read there too.
type githubIDs struct{}

func (githubIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	noName := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	name := noName.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(value))), "")
	return []byte(strings.ReplaceAll(name, " ", "-"))
}

func (githubIDs) Put([]byte) {}

package site

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRender: pages become HTML with a table of contents; links lead within the site or are left out; the index has
// all sections.
func TestRender(t *testing.T) {
	files, err := Render(fstest.MapFS{
		"README.md":   {Data: []byte("# Handbook\n\n## Begin\n\n- [One](one.md): the first\n- [Source](../main.go): no page\n- [Why](decisions/README.md): not in the site\n")},
		"one.md":      {Data: []byte("# One & all\n\nSee [two](two.md#a-word----here), [code](../main.go) and [out](https://example.org/).\n\n![x](img/x.svg)\n")},
		"two.md":      {Data: []byte("# Two\n\n## A word -- `here`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\ncurl x\n```\n")},
		"img/x.svg":   {Data: []byte("<svg/>")},
		"schema.json": {Data: []byte("{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"index.html": {`<h2>Begin</h2>`, `<a href="one.html">One</a>`, `<li>Source: no page</li>`, `<li>Why: not in the site</li>`},
		"one.html":   {`<title>One &amp; all · tsdbridge</title>`, `<a href="two.html#a-word----here">two</a>, code and <a href="https://example.org/">out</a>`, `aria-current="page"`},
		"two.html":   {`<h2 id="a-word----here">`, `<a href="#a-word----here">A word -- here</a>`, `<table tabindex="0">`},
		"img/x.svg":  {"<svg/>"}, "schema.json": {"{}"}, "docs.css": {"color-scheme"}, "docs.js": {"search.json"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(files[name]), want) {
				t.Errorf("%s lacks %s:\n%s", name, want, files[name])
			}
		}
	}
	var index []entry
	if err := json.Unmarshal(files["search.json"], &index); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range index {
		found = found || e == entry{Path: "two.html#a-word----here", Title: "Two", Head: "A word -- here", Text: "a b 1 2 curl x"}
	}
	if !found {
		t.Errorf("the index lacks a section: %+v", index)
	}
}

func TestRenderFails(t *testing.T) {
	for name, source := range map[string]fstest.MapFS{
		"no contents": {"one.md": {Data: []byte("# One\n")}},
		"no title":    {"README.md": {Data: []byte("text\n")}},
	} {
		if _, err := Render(source); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

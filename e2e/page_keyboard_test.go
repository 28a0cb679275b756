package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focused tells what has the focus, and whether that can be seen.
const focused = `(e => {
	const look = getComputedStyle(e), box = e.getBoundingClientRect(), editor = e.closest('.editor');
	const seen = look.outlineStyle !== 'none' && look.outlineWidth !== '0px' || editor && getComputedStyle(editor).outlineStyle !== 'none';
	const name = e.className === 'skip' ? 'skip' : e.ariaLabel || e.textContent.trim().slice(0, 30) || e.closest('label')?.textContent.trim() || e.tagName;
	return e === document.body ? 'body' : name + (seen ? '' : ' UNSEEN') + (box.width > 0 && box.bottom > 0 && box.top < innerHeight ? '' : ' OUTSIDE');
})(document.activeElement)`

// press types a key, and returns what has the focus then.
func (b *browser) press(t *testing.T, key string) string {
	t.Helper()
	b.do(t, "press a key", chromedp.KeyEvent(key))
	return eval[string](t, b, focused)
}

// All of a page can be reached and used with the keyboard, in the order in which it is read, and the focus is seen.
func testPageKeyboard(t *testing.T, p *pageTest) {
	for _, hash := range pagesOfAll {
		p.b.open(t, p.base+"#/"+hash)
		p.b.wait(t, `document.querySelector('main .panel') && !document.querySelector('.panel.running')`)
		eval[bool](t, p.b, `document.activeElement.blur(), true`)
		var way []string
		for range 60 {
			at := p.b.press(t, kb.Tab)
			if at == "body" {
				break
			}
			if way = append(way, at); strings.Contains(at, "UNSEEN") || strings.Contains(at, "OUTSIDE") {
				t.Errorf("%s: the focus is at %q, after %q", hash, at, way)
			}
		}
		if want := "skip|tsdbridge|Explore|Browse|Metrics|Status|Migrate|Handbook|Colours"; !strings.HasPrefix(strings.Join(way, "|"), want) {
			t.Errorf("%s: Tab goes by %q, want %s first", hash, way, want)
		}
	}
	testPageSkip(t, p)
	testPageDialogKeys(t, p)
}

// The first stop leads past the links to the content.
func testPageSkip(t *testing.T, p *pageTest) {
	t.Helper()
	p.b.open(t, p.base+"#/browse")
	p.b.wait(t, `document.querySelector('.fold')`)
	p.b.press(t, kb.Tab)
	p.b.press(t, kb.Enter)
	if !eval[bool](t, p.b, `document.activeElement === document.querySelector('main')`) {
		t.Error("the skip link does not lead to the content")
	}
	eval[bool](t, p.b, `document.querySelector('.fold').focus(), true`)
	for _, want := range []string{"false", "true"} { // the only branch is open at first
		p.b.press(t, kb.Enter)
		p.b.wait(t, `document.querySelector('.fold').getAttribute('aria-expanded') === '`+want+`'`)
	}
}

// A query is written, run and left with keys alone; a dialog ends with Escape, and the focus is where it was.
func testPageDialogKeys(t *testing.T, p *pageTest) {
	t.Helper()
	p.b.open(t, p.base+"#/explore?l0=graphite&q0=")
	p.b.wait(t, `document.querySelector('.cm-content')`)
	eval[bool](t, p.b, `document.querySelector('.query select').focus(), true`)
	if at := p.b.press(t, kb.Tab); !strings.Contains(at, "Graphite query of panel 1") {
		t.Fatalf("Tab leads to %q, want the query", at)
	}
	p.b.do(t, "write", chromedp.KeyEvent("page.web1.load"))
	p.b.press(t, kb.Escape) // the completion
	p.b.press(t, kb.Enter)
	p.b.wait(t, `document.querySelector('.legend td.name')?.textContent === 'page.web1.load'`)
	if at := p.b.press(t, kb.Tab); strings.Contains(at, "query of panel") {
		t.Errorf("Tab stays in the query: %q", at)
	}
	eval[bool](t, p.b, `document.querySelector('.legend td.name button').focus(), true`)
	p.b.press(t, kb.Enter)
	p.b.wait(t, `document.querySelector('dialog[open]')?.contains(document.activeElement)`)
	for range 20 {
		p.b.press(t, kb.Tab)
		if !eval[bool](t, p.b, `document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)`) {
			t.Fatal("Tab leaves the dialog")
		}
	}
	if at := p.b.press(t, kb.Escape); at != "page.web1.load" {
		t.Errorf("after the dialog the focus is at %q, want the name that was picked", at)
	}
	p.b.wait(t, `!document.querySelector('dialog')`)
}

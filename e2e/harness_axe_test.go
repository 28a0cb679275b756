package e2e_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// colours has the browser prefer light or dark.
func (b *browser) colours(t testing.TB, scheme string) {
	t.Helper()
	b.do(t, scheme, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}

// checkAxe compares what is shown with rules of accessibility.
func (b *browser) checkAxe(t testing.TB, where string) {
	t.Helper()
	axe := readFile(t, filepath.Join(moduleRoot, "web", "app", "node_modules", "axe-core", "axe.min.js")) // make browser installs it
	eval[bool](t, b, axe+"\n;true")
	found := eval[string](t, b, `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})
		.then(r => JSON.stringify(r.violations.map(v => [v.id, v.help, v.nodes.slice(0, 5).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary)])))`)
	if found != "[]" {
		t.Errorf("%s: %s", where, found)
	}
}

// checkAccessible does so in light and dark, and keeps pictures.
func checkAccessible(t testing.TB, b *browser, page string) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.colours(t, scheme)
		b.picture(t, scheme+"-"+page)
		b.checkAxe(t, page+" in "+scheme)
	}
	b.colours(t, "light")
}

// checkPhone looks whether what is shown fits a phone, and keeps a picture. The page is opened anew by the caller's function.
func checkPhone(t testing.TB, b *browser, page string, open func()) {
	t.Helper()
	b.do(t, "phone", chromedp.EmulateViewport(390, 800))
	defer b.do(t, "wide again", chromedp.EmulateViewport(1280, 900))
	open()
	if wide := eval[int](t, b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("%s is %d pixels wide on a phone", page, wide)
	}
	b.picture(t, "phone-"+page)
}

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// screenshotsEnv names a directory that keeps the pictures that tests take of the page.
const screenshotsEnv = "TSDBRIDGE_SCREENSHOTS"

// A browser is a tab of a Chromium without a window.
type browser struct {
	ctx context.Context // chromedp keeps the tab in it

	mu       sync.Mutex // guards the one below
	messages []string   // errors and warnings on the console
}

// startBrowser runs Chromium until the test ends.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("there is no chromium: make tools installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.UserDataDir(t.TempDir()))
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, endTab := chromedp.NewContext(ctx)
	b := &browser{ctx: ctx}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		endTab()
		end()
	})
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning {
				b.mu.Lock()
				b.messages = append(b.messages, fmt.Sprintf("%s (%s)", m, m.URL))
				b.mu.Unlock()
			}
		}
	}()
	return b
}

// complaints returns what came on the console since it was called last, without failed requests, which the page itself
// reports.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, m := range b.messages {
		if !strings.Contains(m, "Failed to load resource") {
			all = append(all, m)
		}
	}
	b.messages = nil
	return all
}

// open shows a URL in a page of its own: the page starts anew.
func (b *browser) open(t testing.TB, url string) {
	t.Helper()
	b.do(t, "open "+url, chromedp.Navigate("about:blank"), chromedp.Navigate(url))
}

func (b *browser) do(t testing.TB, what string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// wait waits until a JavaScript expression is true.
func (b *browser) wait(t testing.TB, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("Boolean("+expression+")", chromedp.WithPollingTimeout(0))); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 2000)`))
		t.Fatalf("waiting for %s: %v\nthe page shows\n%s\n%q", expression, err, text, b.complaints())
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](t testing.TB, b *browser, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// picture keeps a picture of the page where screenshotsEnv tells.
func (b *browser) picture(t testing.TB, name string) {
	t.Helper()
	dir := os.Getenv(screenshotsEnv)
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

package web

import (
	"bytes"
	"crypto/rand"
	_ "embed" // the page
	"html/template"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A Page is the page at /, with what it must know before its first request.
type Page struct {
	Version string
	Admin   bool // --web.enable-admin-api is set: the page may offer what changes something
	Edits   bool // trees may be edited too
}

// Routes serves the page, its files and the handbook.
func (p Page) Routes(r chi.Router) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r.MethodFunc(method, "/", p.serve)
		r.MethodFunc(method, "/assets/{name}", serveAsset)
		r.MethodFunc(method, graphPath, showGraph)
	}
	routeHandbook(r)
}

// policy is the Content-Security-Policy of the page: scripts, styles and data come from this server alone, and no
// other page may show it in a frame. The nonce is for the styles that the editor makes.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-NONCE'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (p Page) serve(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, struct {
		Page

		Nonce string
	}{p, nonce}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	protect(h)
	h.Set("Content-Security-Policy", strings.Replace(policy, "NONCE", nonce, 1))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodHead {
		_, _ = page.WriteTo(w)
	}
}

// protect sets the headers of all files of the page.
func protect(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

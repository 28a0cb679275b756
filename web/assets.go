package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
)

//go:embed dist
var dist embed.FS

// mediaTypes are the kinds of files that the page has.
var mediaTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".html": "text/html; charset=utf-8", ".json": "application/json", ".yaml": "application/yaml",
}

// An asset is a file of the page.
type asset struct {
	media         string
	tag           string // of its content, as ETag
	plain, packed []byte
}

// assets returns all files by their names.
var assets = sync.OnceValue(func() map[string]asset {
	files, err := dist.ReadDir("dist")
	if err != nil {
		panic(err) // they are in the binary
	}
	all := map[string]asset{}
	for _, f := range files {
		content, err := dist.ReadFile("dist/" + f.Name())
		if err != nil {
			panic(err)
		}
		all[f.Name()] = newAsset(f.Name(), content)
	}
	return all
})

func newAsset(name string, content []byte) asset {
	sum := sha256.Sum256(content)
	var small bytes.Buffer
	z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression)
	_, _ = z.Write(content) // a buffer takes everything
	_ = z.Close()
	return asset{mediaTypes[path.Ext(name)], fmt.Sprintf("%q", hex.EncodeToString(sum[:8])), content, small.Bytes()}
}

// assetPolicy is the Content-Security-Policy of files that load nothing.
const assetPolicy = "default-src 'none'; frame-ancestors 'none'"

// serveAsset answers with a file of the page.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets()[chi.URLParam(r, "name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	a.serve(w, r, assetPolicy)
}

// serve answers with the file. Browsers ask again each time, and get 304 while it is the same: a new version of the
// program is seen at once.
func (a asset) serve(w http.ResponseWriter, r *http.Request, policy string) {
	h := w.Header()
	protect(h)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", a.tag)
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.media)
	content := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		content = a.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(content)
	}
}

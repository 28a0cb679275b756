package trees

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// show answers with what "tree show" prints.
func (a *API) show(w http.ResponseWriter, r *http.Request) {
	depth := 1
	if text := r.FormValue("depth"); text != "" {
		var err error
		if depth, err = strconv.Atoi(text); err != nil || depth < 0 {
			http.Error(w, "depth: want a number from 0 on", http.StatusBadRequest)
			return
		}
	}
	if !a.shows.TryLock() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the trees are being shown to another caller", http.StatusServiceUnavailable)
		return
	}
	defer a.shows.Unlock()
	out := &replyText{w: w}
	switch err := a.Print(r.Context(), r.FormValue("tree"), r.FormValue("path"), depth, out); {
	case err == nil:
	case out.began:
		panic(http.ErrAbortHandler) // cut off, so that the answer does not look complete
	case errors.Is(err, ErrNoTree):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, storage.ErrInvalid):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, storage.ErrLimit):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// replyText is a reply of plain text.
type replyText struct {
	w     http.ResponseWriter
	began bool
}

func (t *replyText) Write(b []byte) (int, error) {
	if !t.began {
		t.began = true
		t.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	return t.w.Write(b)
}

// replyRouting answers with what "tree test" prints.
func replyRouting(w http.ResponseWriter, routed Routing) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(w, strings.NewReader(routed.String()))
}

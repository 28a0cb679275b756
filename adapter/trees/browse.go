package trees

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree/forest"
	"github.com/tsdbridge/tsdbridge/tree/glob"
)

// browsed is a part of the tree of names, in the JSON of /api/v1/status/trees/browse.
type browsed struct {
	Nodes []browsedNode `json:"nodes"`
	More  bool          `json:"more"` // there are others
}

// A browsedNode is a path that is a branch, a leaf, or both.
type browsedNode struct {
	Path   string   `json:"path"`
	Branch bool     `json:"branch"`
	Series int      `json:"series"` // that are drawn for this path; 0: it is no leaf
	Trees  []uint16 `json:"trees"`
}

// The default and the largest number of nodes of one answer.
const (
	defaultBrowse = 200
	maxBrowse     = 5000
)

// browse lists what is below a path: the first nodes in the order of their names, or those whose names contain a text.
//
//	GET /api/v1/status/trees/browse?path=P[&search=TEXT][&deep=1][&tree=ID][&limit=N]
//
// deep searches at any depth. A text with wildcards is a pattern of the whole name.
func (a *API) browse(w http.ResponseWriter, r *http.Request) {
	limit := defaultBrowse
	var o forest.FindOptions
	for name, to := range map[string]func(n int){
		"limit": func(n int) { limit = min(n, maxBrowse) },
		"tree":  func(n int) { o.Trees = []uint16{uint16(n)} },
	} {
		text := r.FormValue(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			httpapi.BadRequest(w, fmt.Errorf("%s=%q: want a number from 1 to 65535", name, text))
			return
		}
		to(int(n))
	}
	o.First = limit + 1
	path := r.FormValue("path")
	nodes, err := a.Forest.Find(r.Context(), browsePattern(path, r.FormValue("search"), r.FormValue("deep") == "1"), o)
	switch {
	case err == nil:
		nodes = slices.DeleteFunc(nodes, func(n forest.Node) bool { return path != "" && !strings.HasPrefix(n.Path, path+".") })
		httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: newBrowsed(nodes, limit)})
	case errors.Is(err, storage.ErrInvalid), errors.Is(err, storage.ErrLimit):
		httpapi.BadRequest(w, err)
	default:
		httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
	}
}

// browsePattern returns the pattern of the nodes below a path whose names contain a text.
func browsePattern(path, search string, deep bool) string {
	switch {
	case search == "":
		search = "*"
	case !strings.ContainsAny(search, "*?[{"):
		search = "*" + search + "*"
	}
	if deep {
		search = "**." + search
	}
	if path == "" {
		return search
	}
	return glob.Quote(path) + "." + search
}

func newBrowsed(nodes []forest.Node, limit int) browsed {
	b := browsed{Nodes: []browsedNode{}, More: len(nodes) > limit}
	for _, n := range nodes[:min(len(nodes), limit)] {
		trees := n.Trees
		if trees == nil {
			trees = []uint16{}
		}
		b.Nodes = append(b.Nodes, browsedNode{n.Path, n.Branch, len(n.Series), trees})
	}
	return b
}

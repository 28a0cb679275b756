// Package trees shows OpenTSDB's trees, and how series are routed through them: over HTTP, and as
// text for the commands.
package trees

import (
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Paths of the requests about trees. The first is of the admin API.
const (
	SyncPath   = "/api/v1/admin/trees/sync"
	StatusPath = "/api/v1/status/trees"
	TestPath   = StatusPath + "/test"
	ShowPath   = StatusPath + "/show"
	TryPath    = StatusPath + "/try"
	BrowsePath = StatusPath + "/browse"
)

// An API shows the trees of a running adapter:
//
//	GET /api/v1/status/trees                         the trees, their rules and how many leaves they have
//	GET /api/v1/status/trees/test?name=N[&tree=T]... how a series is routed; tree is an id or a name, repeatable
//	GET /api/v1/status/trees/show[?tree=T&path=P&depth=N]   what "tree show" prints
//	GET /api/v1/status/trees/browse?path=P           the names below a path
//	POST /api/v1/status/trees/try                    where rules that are not stored would place series
//	POST /api/v1/admin/trees/sync                    appends the existing series to all trees, in the background
//
// With format=text, test answers what "tree test" prints.
type API struct {
	Printer
	Follower *forest.Follower

	shows  sync.Mutex // one caller at a time is shown trees: it may read a whole one
	trials sync.Mutex // one caller at a time tries rules: their expressions may take long
}

// Routes mounts the requests that change nothing.
func (a *API) Routes(r chi.Router) {
	r.Get(StatusPath, a.status)
	r.Get(TestPath, a.test)
	r.Get(BrowsePath, a.browse)
	r.Post(TryPath, a.try)
	r.Get(ShowPath, a.show)
}

package trees

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"

	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A SyncState is how many of the existing series are on the trees.
type SyncState struct {
	Running bool     `json:"running"`
	Trees   []string `json:"trees"`    // of the pass that is running, or ran last
	Waiting []string `json:"waiting"`  // trees that lack existing series
	Series  int      `json:"series"`   // done in this pass
	Of      int      `json:"of"`       // about how many there are
	Passes  int      `json:"passes"`   // that have ended
	At      string   `json:"position"` // the last TSUID that is done
	Report  string   `json:"report"`
	Error   string   `json:"error,omitempty"`
}

func newSyncState(f *forest.Follower) SyncState {
	now := f.State()
	s := SyncState{
		Running: now.Running, Trees: orNone(now.Trees), Waiting: orNone(now.Waiting), Series: now.Report.Series, Of: now.Of, Passes: now.Passes,
		At: schema.FormatTSUID(now.Report.Position),
	}
	if now.Passes > 0 || now.Running {
		s.Report = now.Report.String()
	}
	if now.Err != nil {
		s.Error = now.Err.Error()
	}
	return s
}

// orNone returns a list that is never null in JSON.
func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Sync starts to append the existing series to all trees.
func (a *API) Sync(r *http.Request) (any, error) {
	so := forest.DefaultSyncOptions()
	so.Rows = r.FormValue("rows") == "true"
	var err error
	if so.From, err = hex.DecodeString(r.FormValue("from")); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	if parallel := r.FormValue("parallel"); parallel != "" {
		if so.Parallel, err = strconv.Atoi(parallel); err != nil || so.Parallel < 1 || so.Parallel > maxSyncParallel {
			return nil, fmt.Errorf("parallel=%s: want a number from 1 to %d", parallel, maxSyncParallel)
		}
	}
	if err := a.Follower.Ask(so); err != nil {
		return nil, err
	}
	return newSyncState(a.Follower), nil
}

// maxSyncParallel bounds the parallelism that a request may ask for.
const maxSyncParallel = 64

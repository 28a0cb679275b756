package trees

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Limits of a trial: bytes of the request, series, bytes of the name of each, rules, and the time for all.
const (
	maxTryBytes    = 256 << 10
	maxTrySubjects = 200
	maxTryName     = 8 << 10
	maxTryRules    = 1000
	maxTryTime     = 5 * time.Second
)

// A trial is a tree that is not stored, and the series to place in it.
type trial struct {
	StrictMatch bool        `json:"strictMatch"`
	Rules       []ruleState `json:"rules"`
	Series      []string    `json:"series"` // dotted names, label sets or TSUIDs
}

// A Placed is what a trial tells of one series.
type Placed struct {
	Name      string   `json:"name"`
	Path      string   `json:"path"` // empty: the tree has no place for it
	Outcome   string   `json:"outcome"`
	Unmatched string   `json:"unmatched,omitempty"`
	Sharing   int      `json:"seriesOnPath"` // of the trial
	Messages  []string `json:"messages"`
}

// try tells where the rules of a tree would place series:
//
//	POST /api/v1/status/trees/try {"strictMatch": false, "rules": [{"type": "TAGK", "field": "dc", "level": 0}], "series": ["up{dc=\"lga\"}"]}
//
// It stores nothing. Expressions may take long, so there is one trial at a time.
func (a *API) try(w http.ResponseWriter, r *http.Request) {
	var t trial
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTryBytes)).Decode(&t); err != nil {
		httpapi.BadRequest(w, fmt.Errorf("the request: %w", err))
		return
	}
	if !a.trials.TryLock() {
		w.Header().Set("Retry-After", "1")
		httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: "rules are being tried for another caller"})
		return
	}
	defer a.trials.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), maxTryTime)
	defer cancel()
	all, err := a.place(ctx, t)
	switch {
	case err == nil:
		httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: all})
	case errors.Is(err, storage.ErrInvalid):
		httpapi.BadRequest(w, err)
	case errors.Is(err, context.DeadlineExceeded):
		text := "the rules take too long: try fewer series, or simpler expressions"
		httpapi.JSON(w, http.StatusUnprocessableEntity, httpapi.Frame{Status: "error", ErrorType: "execution", Error: text})
	default:
		httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
	}
}

func (a *API) place(ctx context.Context, t trial) ([]Placed, error) {
	if len(t.Series) > maxTrySubjects || len(t.Rules) > maxTryRules {
		return nil, fmt.Errorf("%w: %d series and %d rules, at most %d and %d are tried", storage.ErrInvalid, len(t.Series), len(t.Rules), maxTrySubjects, maxTryRules)
	}
	d := tree.Definition{ID: triedTree, Tree: schema.Tree{Name: "tried", StrictMatch: t.StrictMatch, Enabled: true}}
	for _, rule := range t.Rules {
		d.Rules = append(d.Rules, schema.TreeRule{
			Type: rule.Type, Field: rule.Field, CustomField: rule.CustomField, Regex: rule.Regex, RegexGroupIdx: rule.RegexGroupIdx,
			Separator: rule.Separator, DisplayFormat: rule.DisplayFormat, Level: rule.Level, Order: rule.Order, TreeID: triedTree,
		})
	}
	if err := tree.Check(d); err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	series := make([]storage.NewSeries, len(t.Series))
	for i, name := range t.Series {
		var err error
		if len(name) > maxTryName {
			return nil, fmt.Errorf("%w: %.50s...: a name of more than %d bytes", storage.ErrInvalid, name, maxTryName)
		}
		if series[i], err = a.subject(ctx, name, &Routing{}); err != nil {
			return nil, err
		}
	}
	explained, err := a.Forest.Try(ctx, d, series)
	if err != nil {
		return nil, err
	}
	return placedAll(t.Series, explained), nil
}

// triedTree is the id of a tree that is tried. It is in no table.
const triedTree = 65535

func placedAll(names []string, explained []tree.Explanation) []Placed {
	sharing := map[string]int{}
	for _, x := range explained {
		sharing[x.Path()]++
	}
	all := make([]Placed, len(explained))
	for i, x := range explained {
		all[i] = Placed{Name: names[i], Path: x.Path(), Outcome: x.Route.Outcome.String(), Unmatched: x.Route.Unmatched, Messages: x.Messages}
		if all[i].Path != "" {
			all[i].Sharing = sharing[all[i].Path]
		}
		if all[i].Messages == nil {
			all[i].Messages = []string{}
		}
	}
	return all
}

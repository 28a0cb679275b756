package trees

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// SeriesNames finds the UIDs of series and the names of UIDs. catalog.Catalog is one.
type SeriesNames interface {
	TSUID(ctx context.Context, series storage.Series) (tsuid []byte, ok bool, err error)
	Exists(ctx context.Context, series []storage.Series) ([]bool, error)
	NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
}

// An Explainer explains how series are routed.
type Explainer struct {
	Forest *forest.Forest
	Store  SeriesNames
	Names  *translate.Translator
	// Alone means that no adapter is running: rows of any width may be read.
	Alone bool
}

// A Routing is what becomes of one series, in the JSON of /api/v1/status/trees/test.
type Routing struct {
	Name string `json:"name"`
	// Inverse is the tree that turns a dotted name into metric and tags, empty if none does.
	Inverse string `json:"inverse,omitempty"`
	Labels  string `json:"labels"`
	Path    string `json:"path"`   // the Graphite name
	Series  string `json:"series"` // as it is stored
	TSUID   string `json:"tsuid"`  // "" when there is no such series yet
	// Trees are the routes through the requested trees.
	Trees []Route `json:"trees"`

	// Kept means that the inverse is not used, since the series of the whole name existed before.
	Kept bool `json:"kept,omitempty"`

	dotted bool // the name is dotted, without tags
}

// A Route is what becomes of a series in one tree.
type Route struct {
	ID        uint16 `json:"treeId"`
	Name      string `json:"name"`
	Enabled   bool   `json:"enabled"`
	Outcome   string `json:"outcome"`
	Path      string `json:"path"` // that finds the series, "" when the tree has no place for it
	Row       string `json:"row,omitempty"`
	Unmatched string `json:"unmatched,omitempty"`
	// Sharing is how many series have the path in the table, SharedWith some of the others, as they
	// are stored.
	Sharing    int      `json:"seriesOnPath"`
	SharedWith []string `json:"sharedWith,omitempty"`
	Messages   []string `json:"messages"` // those of a TSD's /api/tree/test

	said string
}

// Explain routes a series through trees, all of them when none are named. The name is a Graphite
// name, dotted or tagged, a label set such as up{job="x"}, or a TSUID in hexadecimal.
func (e *Explainer) Explain(ctx context.Context, name string, trees []string) (Routing, error) {
	r := Routing{Name: name, Trees: []Route{}}
	series, err := e.subject(ctx, name, &r)
	if err != nil {
		return r, err
	}
	ls := e.Names.ToLabels(series.Series)
	r.Labels, r.Path, r.Series, r.TSUID = ls.String(), translate.LabelsPath(ls), series.String(), schema.FormatTSUID(series.TSUID)
	all, err := e.Forest.Explain(ctx, series)
	if err != nil {
		return r, err
	}
	for _, x := range all {
		if d := x.Tree.Definition(); len(trees) == 0 || slices.ContainsFunc(trees, func(asked string) bool { return isTree(asked, x.Tree.ID(), d.Name) }) {
			one := newRoute(x)
			if err := e.sharers(ctx, x, series.TSUID, &one); err != nil {
				return r, err
			}
			r.Trees = append(r.Trees, one)
		}
	}
	if len(r.Trees) == 0 {
		return r, fmt.Errorf("%w: %s", ErrNoTree, e.treeless(trees))
	}
	return r, nil
}

// mostSharers is how many of the other series of a path are named.
const mostSharers = 10

// sharers returns the other series that have the path of a series.
func (e *Explainer) sharers(ctx context.Context, x tree.Explanation, tsuid []byte, r *Route) error {
	if !e.Alone && !e.Forest.Loaded() {
		return nil
	}
	all, err := e.Forest.OnPath(ctx, r.ID, x.Route)
	if err != nil {
		return err
	}
	r.Sharing = len(all)
	others := slices.DeleteFunc(all, func(have []byte) bool { return bytes.Equal(have, tsuid) })
	if len(others) == 0 {
		return nil
	}
	named, err := e.Store.NameSeries(ctx, others[:min(len(others), mostSharers)])
	if err != nil {
		return err
	}
	if r.said += fmt.Sprintf("other series of this path: %d\n", len(others)); len(others) > len(named) {
		r.said += fmt.Sprintf("the first %d of them:\n", len(named))
	}
	for _, one := range named {
		r.SharedWith = append(r.SharedWith, one.String())
		r.said += "  " + one.String() + "\n"
	}
	return nil
}

// ErrNoTree means that there is no tree to route through.
var ErrNoTree = errors.New("no such tree")

func (e *Explainer) treeless(asked []string) string {
	var have []string
	for _, t := range e.Forest.Trees() {
		have = append(have, fmt.Sprintf("%d (%s)", t.ID(), t.Definition().Name))
	}
	switch {
	case len(have) == 0:
		return "there is none that can be used"
	default:
		return fmt.Sprintf("want %s, have %s", strings.Join(asked, ", "), strings.Join(have, ", "))
	}
}

// isTree reports whether a text is the id or the name of a tree.
func isTree(asked string, id uint16, name string) bool {
	return asked == name || asked == strconv.Itoa(int(id))
}

func newRoute(x tree.Explanation) Route {
	d := x.Tree.Definition()
	r := Route{
		ID: x.Tree.ID(), Name: d.Name, Enabled: d.Enabled, Outcome: x.Route.Outcome.String(), Path: x.Path(),
		Unmatched: x.Route.Unmatched, Messages: x.Messages, said: x.String(),
	}
	if r.Path != "" {
		r.Row = fmt.Sprintf("%X", schema.BranchRow(r.ID, x.Route.Branches...))
	}
	if r.Messages == nil {
		r.Messages = []string{}
	}
	return r
}

// subject returns the series that a name means.
func (e *Explainer) subject(ctx context.Context, name string, r *Routing) (storage.NewSeries, error) {
	if tsuid, err := hex.DecodeString(name); err == nil && len(tsuid) > 0 {
		if named, err := e.Store.NameSeries(ctx, [][]byte{tsuid}); err != nil || len(named) == 1 {
			return slices.Concat(named, []storage.NewSeries{{}})[0], err
		}
	}
	series, err := e.series(ctx, name, r)
	if err != nil {
		return storage.NewSeries{}, err
	}
	tsuid, _, err := e.Store.TSUID(ctx, series)
	return storage.NewSeries{TSUID: tsuid, Series: series}, err
}

// series returns what would be stored for a name: a label set is Prometheus', everything else is
// carbon's.
func (e *Explainer) series(ctx context.Context, name string, r *Routing) (storage.Series, error) {
	switch {
	case name == "":
		return storage.Series{}, fmt.Errorf("%w: the name is empty", storage.ErrInvalid)
	case strings.HasSuffix(name, "}"):
		ls, err := parseLabelSet(name)
		if err != nil {
			return storage.Series{}, fmt.Errorf("%w: label set %s: %w", storage.ErrInvalid, name, err)
		}
		return e.Names.FromLabels(ls), nil
	}
	whole := e.Names.FromPath(name)
	if r.dotted = e.Names.Plain(whole); !r.dotted {
		return whole, nil
	}
	shown, by, ok := e.Forest.Inverse(e.Names.ToPath(whole))
	if !ok {
		return whole, nil
	}
	r.Inverse = fmt.Sprintf("tree %d (%s)", by.ID(), by.Definition().Name)
	exist, err := e.Store.Exists(ctx, []storage.Series{whole})
	if err != nil {
		return whole, err
	}
	if r.Kept = exist[0]; r.Kept {
		return whole, nil
	}
	return e.Names.FromShown(shown), nil
}

// parseLabelSet reads name{label="value",...}. The name may be any text before the brace.
func parseLabelSet(text string) (labels.Labels, error) {
	metric, rest, _ := strings.Cut(text, "{")
	ls, err := parser.NewParser(parser.Options{}).ParseMetric("{" + rest)
	if err != nil || metric == "" {
		return ls, err
	}
	b := labels.NewBuilder(ls)
	b.Set(model.MetricNameLabel, metric)
	return b.Labels(), nil
}

// String formats the routing for people.
func (r Routing) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "labels  %s\npath    %s\nstored  %s\n", r.Labels, r.Path, r.Series)
	if r.TSUID != "" {
		fmt.Fprintf(&b, "TSUID   %s\n", r.TSUID)
	} else {
		b.WriteString("TSUID   none: no point of this series was stored yet\n")
	}
	switch {
	case r.Kept:
		fmt.Fprintf(&b, "tags    would be made of the dotted name by %s; it goes on to mean the series that was there before the tree\n", r.Inverse)
	case r.Inverse != "":
		fmt.Fprintf(&b, "tags    are made of the dotted name by %s\n", r.Inverse)
	case r.dotted:
		b.WriteString("tags    no tree makes any of the dotted name: it is stored whole, as a metric\n")
	}
	for _, t := range r.Trees {
		b.WriteString("\n" + t.said)
	}
	return b.String()
}

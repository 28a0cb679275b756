package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Inverter reads trees backwards. forest.Forest is one.
type Inverter interface {
	// Inverse returns the series that a tree makes of a plain path, and the tree. ok is false when
	// no tree takes the path.
	Inverse(path string) (series storage.Series, by *tree.Tree, ok bool)
	// Observe appends series to trees.
	Observe(ctx context.Context, series []storage.NewSeries) error
}

// Catalog knows the series of a store. catalog.Catalog is one.
type Catalog interface {
	Exists(ctx context.Context, series []storage.Series) ([]bool, error)
	TSUIDOf(ref storage.Ref) []byte
}

// A Store is the store as carbon's lines reach it. It makes metric and tags of the new plain
// names that a tree can be read backwards for. A name whose series existed before the tree keeps
// that series.
//
// A series that a tree made of a name is found under that name, also one that the store had before
// the tree. To the store such a series is not new, so this one appends it to the trees itself.
type Store struct {
	storage.Appender

	Catalog Catalog
	Trees   Inverter
	Names   *translate.Translator
}

// SeriesOf returns the series of a name taken whole. A name without an element, such as "...", has none; the store refuses that.
func (a Store) SeriesOf(name string) storage.Series {
	s, ok := a.Names.FromAnyPath(name)
	if !ok {
		return storage.Series{}
	}
	return s
}

// inverted replaces plain names by the series that trees make of them. Names that no tree takes
// stay as they are. others are the places of the series that are not plain then.
func (a Store) inverted(ctx context.Context, series []storage.Series) (_ []storage.Series, others []int, err error) {
	var whole, made []storage.Series
	var at []int
	for i, one := range series {
		if !a.Names.Plain(one) {
			others = append(others, i)
			continue
		}
		// The name as it would be found: without its empty elements.
		if path := a.Names.ToPath(one); !strings.Contains(path, ";") {
			if shown, _, ok := a.Trees.Inverse(path); ok {
				whole, made, at = append(whole, one), append(made, a.Names.FromShown(shown)), append(at, i)
			}
		}
	}
	if len(whole) == 0 {
		return series, others, nil
	}
	exist, err := a.Catalog.Exists(ctx, whole)
	if err != nil {
		return nil, nil, fmt.Errorf("look for series of whole names: %w", err)
	}
	series = slices.Clone(series)
	for n, i := range at {
		if !exist[n] {
			series[i] = made[n]
			if !a.Names.Plain(made[n]) {
				others = append(others, i)
			}
		}
	}
	slices.Sort(others)
	return series, others, nil
}

// Resolve implements storage.Appender.
func (a Store) Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error) {
	sent := len(series)
	series, others, err := a.inverted(ctx, series)
	if err != nil {
		refs, errs := make([]storage.Ref, sent), make([]error, sent)
		for i := range errs {
			errs[i] = err
		}
		return refs, errs
	}
	refs, errs := a.Appender.Resolve(ctx, series)
	var known []storage.NewSeries
	var at []int
	for _, i := range others {
		if ref := refs[i]; ref != 0 {
			known, at = append(known, storage.NewSeries{TSUID: a.Catalog.TSUIDOf(ref), Series: series[i]}), append(at, i)
		}
	}
	if len(known) == 0 {
		return refs, errs
	}
	if err := a.Trees.Observe(ctx, known); err != nil {
		if errs == nil {
			errs = make([]error, len(series))
		}
		for _, i := range at {
			refs[i], errs[i] = 0, err
		}
	}
	return refs, errs
}

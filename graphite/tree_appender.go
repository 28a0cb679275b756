package graphite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Inverter reads trees backwards. tree.Forest is one.
type Inverter interface {
	// Inverse returns the series that a tree makes of a plain path, and the tree. ok is false when
	// no tree takes the path.
	Inverse(path string) (series storage.Series, by *tree.Tree, ok bool)
	// Observe appends series to trees.
	Observe(ctx context.Context, series []storage.NewSeries) error
}

// Catalog knows the series of a store. catalog.Catalog is one.
type Catalog interface {
	source.Catalog
	Exists(ctx context.Context, series []storage.Series) ([]bool, error)
	TSUIDOf(ref storage.Ref) []byte
}

// treeAppender is the store as carbon's lines reach it. It makes metric and tags of the new plain
// names that a tree can be read backwards for. A name whose series existed before the tree keeps
// that series.
//
// A series that a tree made of a name is found under that name, also one that the store had before
// the tree. To the store such a series is not new, so treeAppender appends it to the trees itself.
type treeAppender struct {
	storage.Appender
	catalog Catalog
	trees   Inverter
	names   *translate.Translator
}

// inverted replaces plain names by the series that trees make of them. Names that no tree takes
// stay as they are. others are the places of the series that are not plain then.
func (a treeAppender) inverted(ctx context.Context, series []storage.Series) (_ []storage.Series, others []int, err error) {
	var whole, made []storage.Series
	var at []int
	for i, one := range series {
		if !a.names.Plain(one) {
			others = append(others, i)
			continue
		}
		// The name as it would be found: without its empty elements.
		if path := a.names.ToPath(one); !strings.Contains(path, ";") {
			if shown, _, ok := a.trees.Inverse(path); ok {
				whole, made, at = append(whole, one), append(made, a.names.FromShown(shown)), append(at, i)
			}
		}
	}
	if len(whole) == 0 {
		return series, others, nil
	}
	exist, err := a.catalog.Exists(ctx, whole)
	if err != nil {
		return nil, nil, fmt.Errorf("look for series of whole names: %w", err)
	}
	series = slices.Clone(series)
	for n, i := range at {
		if !exist[n] {
			series[i] = made[n]
			if !a.names.Plain(made[n]) {
				others = append(others, i)
			}
		}
	}
	slices.Sort(others)
	return series, others, nil
}

// Resolve implements storage.Appender.
func (a treeAppender) Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error) {
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
			known, at = append(known, storage.NewSeries{TSUID: a.catalog.TSUIDOf(ref), Series: series[i]}), append(at, i)
		}
	}
	if len(known) == 0 {
		return refs, errs
	}
	if err := a.trees.Observe(ctx, known); err != nil {
		if errs == nil {
			errs = make([]error, len(series))
		}
		for _, i := range at {
			refs[i], errs[i] = 0, err
		}
	}
	return refs, errs
}

package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/graphite/tagspec"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// The tag database is the store: every series with a label in addition to its name is tagged, by
// whichever protocol it was written. Plain series, which have a path and no tags, are in no answer
// of /tags: graphite-web does not index them either.

// tagIndex answers what /tags asks for, from the names and series of the store.
type tagIndex struct {
	store     storage.Querier
	names     *translate.Translator
	registrar Registrar // nil: tagSeries and tagMultiSeries only return the canonical names
	limits    Limits
}

// findSeries answers /tags/findSeries: the names of the series that satisfy conditions.
func (a *tagIndex) findSeries(r *exchange.Request) (*exchange.Reply, error) {
	exprs := r.Params.List("expr")
	specs, err := tagspec.Parse(r.Context(), exprs)
	if err != nil {
		return nil, err
	}
	names := []string{}
	err = a.eachTagged(r.Context(), specs, func(ls labels.Labels) { names = append(names, translate.LabelsPath(ls)) })
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return r.PlainReply(slices.Compact(names)), nil
}

// eachTagged visits the labels of the series that satisfy conditions, in no order.
func (a *tagIndex) eachTagged(ctx context.Context, specs tagspec.Specs, visit func(labels.Labels)) error {
	err := a.eachOf(ctx, specs.Filters(a.names), a.limits.Series, func(ls labels.Labels) {
		if specs.Match(ls) {
			visit(ls)
		}
	})
	return errors.Join(err, specs.Err())
}

// eachOf visits the labels of the series that pass filters and are not plain.
func (a *tagIndex) eachOf(ctx context.Context, list []storage.Filter, limit int, visit func(labels.Labels)) error {
	found, err := a.store.Find(ctx, append(list, tagspec.Tagged(a.names)), 0, math.MaxInt64, limit)
	if err != nil {
		return fmt.Errorf("find series by tags: %w", err)
	}
	if err := query.AccountOf(ctx).Take(source.FoundBytes * int64(len(found))); err != nil {
		return err
	}
	for i, f := range found {
		if i%source.FoundPage == 0 {
			if err := query.TurnOf(ctx).Yield(ctx); err != nil {
				return err
			}
		}
		if ls := a.names.ToLabels(f.Series); !translate.IsPlain(ls) {
			visit(ls)
		}
	}
	return nil
}

// tagSeries answers /tags/tagSeries: the canonical name of a series, which is known from then on.
func (a *tagIndex) tagSeries(r *exchange.Request) (*exchange.Reply, error) {
	if r.Params.Get("path") == "" {
		return nil, exchange.Refuse(http.StatusBadRequest, "no path specified")
	}
	names, err := a.register(r.Context(), []string{r.Params.Get("path")})
	if err != nil {
		return nil, err
	}
	return r.PlainReply(names[0]), nil
}

// tagMultiSeries answers /tags/tagMultiSeries, which is what carbon calls.
func (a *tagIndex) tagMultiSeries(r *exchange.Request) (*exchange.Reply, error) {
	paths := r.Params.List("path")
	if len(paths) == 0 {
		return nil, exchange.Refuse(http.StatusBadRequest, "no paths specified")
	}
	names, err := a.register(r.Context(), paths)
	if err != nil {
		return nil, err
	}
	return r.PlainReply(names), nil
}

// register makes tagged series known, all or none, and returns their canonical names.
func (a *tagIndex) register(ctx context.Context, paths []string) ([]string, error) {
	if err := query.AccountOf(ctx).Take(source.FoundBytes * int64(len(paths))); err != nil {
		return nil, err
	}
	names := make([]string, len(paths))
	var tagged []storage.Series
	for i, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := series.ParseTags(path); err != nil {
			return nil, exchange.InvalidParams("Cannot parse path %s: %v", python.Excerpt(path, 200), err)
		}
		ls := translate.PathLabels(path)
		names[i] = translate.LabelsPath(ls)
		if !translate.IsPlain(ls) {
			tagged = append(tagged, a.names.FromLabels(ls))
		}
	}
	if a.registrar == nil || len(tagged) == 0 {
		return names, nil
	}
	_, errs := a.registrar.Resolve(ctx, tagged)
	return names, errors.Join(errs...)
}

// textSet is a set of texts that are not empty.
type textSet map[string]int

func (s textSet) add(text string) {
	if text != "" {
		s[text]++
	}
}

// list returns the sorted set without what does not pass.
func (s textSet) list(passes func(string) bool) []string {
	out := []string{}
	for text := range s {
		if passes == nil || passes(text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// first cuts a list to a limit; none below 1.
func first(list []string, limit int) []string {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}

// withPrefix passes texts that begin with a prefix.
func withPrefix(prefix string) func(string) bool {
	return func(text string) bool { return strings.HasPrefix(text, prefix) }
}

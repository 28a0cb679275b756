package api

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/graphite/tagspec"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Deleter deletes series with their points, or only series that have none. A store.Store is one.
type Deleter interface {
	Delete(ctx context.Context, d storage.Deletion) (storage.Deleted, error)
	DeleteEmpty(ctx context.Context, refs []storage.Ref) (storage.Deleted, error)
}

// remover deletes series by paths and by tags.
type remover struct {
	trees       source.Trees
	catalog     source.Catalog
	tags        *tagIndex
	deleter     Deleter // nil: nothing is deleted
	allowDelete bool    // points may be deleted
	limits      Limits
	foreign     *http.CrossOriginProtection
	logger      *slog.Logger
}

// errNeedsAdmin is why points are not deleted.
var errNeedsAdmin = exchange.Refuse(http.StatusForbidden, "points are deleted only with --web.enable-admin-api")

// metricsRoot answers /metrics: what find answers, or what a deletion does.
func (a *API) metricsRoot(r *exchange.Request) (*exchange.Reply, error) {
	if r.Method == http.MethodDelete {
		return a.remover.deleteMetrics(r)
	}
	return a.finder.find(r)
}

// deleteMetrics answers DELETE /metrics: the series that a pattern matches, which are deleted with all
// their points if dryRun=0 says so.
func (a *remover) deleteMetrics(r *exchange.Request) (*exchange.Reply, error) {
	query := r.Params.Get("query")
	switch {
	case a.foreign.Check(r.Request) != nil:
		return nil, errForeignPage
	case query == "":
		return nil, exchange.InvalidParams("Missing required parameter 'query'")
	}
	dry, err := dryRun(r.Params)
	if err != nil {
		return nil, err
	}
	names, refs, err := a.leaves(r.Context(), query)
	if err != nil {
		return nil, err
	}
	if !dry && len(refs) > 0 {
		if _, err := a.deleter.Delete(r.Context(), storage.Deletion{Refs: refs, Whole: true}); err != nil {
			return nil, err
		}
		a.logger.Info("graphite metrics deleted", "query", python.Excerpt(query, python.MaxExcerpt), "series", len(refs), "client", r.RemoteAddr)
	}
	return r.PlainReply(pyjson.Object{{Key: "query", Value: query}, {Key: "dryRun", Value: dry}, {Key: "series", Value: len(refs)}, {Key: "metrics", Value: names}}), nil
}

// dryRun reads the parameter of this name. Without it nothing is deleted.
func dryRun(f exchange.Form) (bool, error) {
	switch strings.ToLower(f.Get("dryRun")) {
	case "", "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	}
	return true, exchange.InvalidParams("Invalid value %s for param dryRun: want 0 or 1", exchange.Quoted(f.Get("dryRun")))
}

// leaves returns the paths of the leaves that a pattern matches, or the tagged series whose canonical
// name it is, with their series.
func (a *remover) leaves(ctx context.Context, query string) (names []string, refs []storage.Ref, err error) {
	nodes, err := source.FindPaths(ctx, a.trees, query, forest.FindOptions{Leaves: true, Limit: a.limits.Nodes})
	if err != nil {
		return nil, nil, err
	}
	var tsuids [][]byte
	names = []string{}
	for _, n := range nodes {
		if len(n.Series) > 0 {
			names, tsuids = append(names, n.Path), append(tsuids, n.Series...)
		}
	}
	found, missing := a.catalog.Refs(tsuids)
	if missing != nil {
		a.logger.Warn("leaves of trees without a series in the store are left out; run tsdbridge tree sync", "pattern", query, "err", missing)
	}
	for _, ref := range found {
		if ref != 0 {
			refs = append(refs, ref)
		}
	}
	if ls := translate.PathLabels(query); len(names) == 0 && !ls.IsEmpty() && !translate.IsPlain(ls) && translate.LabelsPath(ls) == query {
		if refs, err = a.tags.refsOf(ctx, ls); len(refs) > 0 {
			names = append(names, query)
		}
	}
	slices.Sort(refs)
	return names, slices.Compact(refs), err
}

// delSeries answers /tags/delSeries. In graphite-web it takes series out of the index of tags and leaves
// their points. Here the store is the index: series without points go; those with points only where
// points may be deleted.
func (a *remover) delSeries(r *exchange.Request) (*exchange.Reply, error) {
	paths := r.Params.List("path")
	if len(paths) == 0 {
		return nil, exchange.Refuse(http.StatusBadRequest, "no path specified")
	}
	var all []storage.Ref
	for _, path := range paths {
		if _, err := series.ParseTags(path); err != nil {
			return nil, exchange.InvalidParams("Cannot parse path %s: %v", python.Excerpt(path, 200), err)
		}
		ls := translate.PathLabels(path)
		if ls.IsEmpty() || translate.IsPlain(ls) {
			continue // it is in no index of tags
		}
		refs, err := a.tags.refsOf(r.Context(), ls)
		if err != nil {
			return nil, err
		}
		all = append(all, refs...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return r.PlainReply(true), nil
	}
	if a.deleter == nil {
		return nil, errNeedsAdmin
	}
	if err := a.forget(r.Context(), all); err != nil {
		return nil, err
	}
	return r.PlainReply(true), nil
}

// forget deletes series: with their points if that is allowed, else only if they have none.
func (a *remover) forget(ctx context.Context, refs []storage.Ref) (err error) {
	if a.allowDelete {
		_, err = a.deleter.Delete(ctx, storage.Deletion{Refs: refs, Whole: true})
		return err
	}
	if _, err = a.deleter.DeleteEmpty(ctx, refs); errors.Is(err, storage.ErrNotEmpty) {
		return errNeedsAdmin
	}
	return err
}

// refsOf returns the series that have exactly some labels.
func (a *tagIndex) refsOf(ctx context.Context, ls labels.Labels) ([]storage.Ref, error) {
	var conditions []translate.Condition
	ls.Range(func(l labels.Label) {
		conditions = append(conditions, translate.Condition{Label: l.Name, Values: []string{l.Value}})
	})
	filters := append(a.names.ConditionFilters(conditions), tagspec.Tagged(a.names))
	found, err := a.store.Find(ctx, filters, 0, math.MaxInt64, a.limits.Series)
	if err != nil {
		return nil, errors.Join(errors.New("find a series by its tags"), err)
	}
	if err := query.AccountOf(ctx).Take(source.FoundBytes * int64(len(found))); err != nil {
		return nil, err
	}
	var refs []storage.Ref
	for _, f := range found {
		if labels.Equal(a.names.ToLabels(f.Series), ls) {
			refs = append(refs, f.Ref)
		}
	}
	return refs, nil
}

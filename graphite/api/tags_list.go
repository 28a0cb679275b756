package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/tagspec"
)

// completeLimit is how many texts are suggested unless the request has a limit: graphite-web's
// TAGDB_AUTOCOMPLETE_LIMIT.
const completeLimit = 100

// filterOf returns the parameter filter, a regular expression.
func filterOf(ctx context.Context, f exchange.Form) (passes func(string) bool, failed func() error, err error) {
	if f.Get("filter") == "" {
		return nil, func() error { return nil }, nil
	}
	re, err := tagspec.Anchored(f.Get("filter"))
	if err != nil {
		return nil, nil, exchange.InvalidParams("Invalid filter: %v", err)
	}
	var tooMuch error
	passes = func(text string) bool {
		if tooMuch != nil {
			return false
		}
		if tooMuch = ctx.Err(); tooMuch != nil {
			return false
		}
		ok, err := re.Search(text)
		if err != nil {
			tooMuch = err
		}
		return ok
	}
	return passes, func() error {
		if errors.Is(tooMuch, pyregexp.ErrTooExpensive) {
			return exchange.InvalidParams("filter: %v", tooMuch)
		}
		return tooMuch
	}, nil
}

// limitOf returns the parameter limit. ok is false when the list is to be empty. Below 0 there is
// no limit, as in SQLite.
func limitOf(f exchange.Form) (limit int, ok bool, err error) {
	if f.Get("limit") == "" {
		return 0, true, nil
	}
	limit, err = exchange.PythonInt(f.Get("limit"))
	return max(limit, 0), limit != 0, err
}

// listTags answers /tags: all tags. Ids are places in the list, since nothing takes one.
func (a *tagIndex) listTags(r *exchange.Request) (*exchange.Reply, error) {
	passes, failed, err := filterOf(r.Context(), r.Params)
	if err != nil {
		return nil, err
	}
	limit, ok, err := limitOf(r.Params)
	if err != nil {
		return nil, err
	}
	tags, err := a.allTags(r.Context())
	if err != nil {
		return nil, err
	}
	list := first(tags.list(passes), limit)
	if err := failed(); err != nil {
		return nil, err
	}
	if !ok {
		list = nil
	}
	shown := make([]pyjson.Object, len(list))
	for i, tag := range list {
		shown[i] = pyjson.Object{{Key: "id", Value: i + 1}, {Key: "tag", Value: tag}}
	}
	return r.PlainReply(shown), nil
}

// showTag answers /tags/TAG: its values, and how many series have each.
func (a *tagIndex) showTag(r *exchange.Request) (*exchange.Reply, error) {
	tag := exchange.PathParam(r, "*")
	if tag == "" {
		return a.listTags(r)
	}
	passes, failed, err := filterOf(r.Context(), r.Params)
	if err != nil {
		return nil, err
	}
	limit, ok, err := limitOf(r.Params)
	if err != nil {
		return nil, err
	}
	counts, known, err := a.countValues(r.Context(), tag, passes, limit)
	if err != nil {
		return nil, err
	}
	if err := failed(); err != nil {
		return nil, err
	}
	if !known {
		return r.PlainReply(nil), nil
	}
	list := first(counts.list(passes), limit)
	if !ok {
		list = nil
	}
	values := make([]pyjson.Object, len(list))
	for i, value := range list {
		values[i] = pyjson.Object{{Key: "id", Value: i + 1}, {Key: "value", Value: value}, {Key: "count", Value: counts[value]}}
	}
	return r.PlainReply(pyjson.Object{{Key: "id", Value: 1}, {Key: "tag", Value: tag}, {Key: "values", Value: values}}), nil
}

// completeTags answers /tags/autoComplete/tags: tags that begin with a prefix, of the series that
// satisfy conditions but not those that the conditions are about.
func (a *tagIndex) completeTags(r *exchange.Request) (*exchange.Reply, error) {
	limit, err := completionLimit(r.Params)
	if err != nil {
		return nil, err
	}
	exprs := r.Params.List("expr")
	var tags textSet
	if len(exprs) == 0 {
		tags, err = a.allTags(r.Context())
	} else if tags, err = a.tagsOf(r, exprs); limit <= 0 {
		tags = nil
	}
	if err != nil {
		return nil, err
	}
	return r.PlainReply(pythonFirst(tags.list(withPrefix(r.Params.Get("tagPrefix"))), limit)), nil
}

// pythonFirst is list[:limit] of Python: below 0 it leaves out so many at the end.
func pythonFirst(list []string, limit int) []string {
	if limit < 0 {
		limit = max(len(list)+limit, 0)
	}
	return list[:min(len(list), limit)]
}

func completionLimit(f exchange.Form) (int, error) {
	if !f.Has("limit") {
		return completeLimit, nil
	}
	return exchange.PythonInt(f.Get("limit"))
}

func (a *tagIndex) tagsOf(r *exchange.Request, exprs []string) (textSet, error) {
	specs, err := tagspec.Parse(r.Context(), exprs)
	if err != nil {
		return nil, err
	}
	names := textSet{}
	err = a.eachTagged(r.Context(), specs, func(ls labels.Labels) {
		ls.Range(func(l labels.Label) { names.add(l.Name) })
	})
	for _, s := range specs {
		delete(names, s.Label)
	}
	tags := textSet{}
	for name := range names {
		tags.add(tagspec.Tag(name))
	}
	return tags, err
}

// completeValues answers /tags/autoComplete/values: values of a tag that begin with a prefix, of
// the series that satisfy conditions.
func (a *tagIndex) completeValues(r *exchange.Request) (*exchange.Reply, error) {
	tag := r.Params.Get("tag")
	if tag == "" {
		return nil, exchange.Refuse(400, "no tag specified")
	}
	limit, err := completionLimit(r.Params)
	if err != nil {
		return nil, err
	}
	exprs, passes := r.Params.List("expr"), withPrefix(r.Params.Get("valuePrefix"))
	var values textSet
	if len(exprs) == 0 {
		values, err = a.allValues(r.Context(), tagspec.Label(tag), passes, max(limit, 0))
	} else if values, err = a.valuesOf(r, exprs, tag); limit <= 0 {
		values = nil
	}
	if err != nil {
		return nil, err
	}
	return r.PlainReply(pythonFirst(values.list(passes), limit)), nil
}

func (a *tagIndex) valuesOf(r *exchange.Request, exprs []string, tag string) (textSet, error) {
	specs, err := tagspec.Parse(r.Context(), append(slices.Clip(exprs), tag+"!="))
	if err != nil {
		return nil, fmt.Errorf("values of tag %s: %w", python.Excerpt(tag, 200), err)
	}
	values, label := textSet{}, tagspec.Label(tag)
	err = a.eachTagged(r.Context(), specs, func(ls labels.Labels) { values.add(ls.Get(label)) })
	return values, err
}

package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// functionModule is where graphite-web has its functions.
const functionModule = "graphite.render.functions"

// listFunctions answers /functions: all functions, those of a group, or all by group.
func (a *API) listFunctions(r *exchange.Request) (*exchange.Reply, error) {
	group, grouped := r.Params.Get("group"), false
	switch strings.ToLower(r.Params.Get("grouped")) {
	case "1", "true":
		grouped = true
	}
	list, groups := pyjson.Object{}, map[string]pyjson.Object{}
	for _, f := range a.functionsOf(r.Params) {
		if r.Params.Has("group") && group != f.Group {
			continue
		}
		shown := pyjson.Member{Key: f.Name, Value: describe(f)}
		list, groups[f.Group] = append(list, shown), append(groups[f.Group], shown)
	}
	if grouped {
		list = pyjson.Object{}
		for name, members := range groups {
			list = append(list, pyjson.Member{Key: name, Value: members})
		}
		list = list.Sorted()
	}
	return r.PlainReply(list), nil
}

// showFunction answers /functions/NAME.
func (a *API) showFunction(r *exchange.Request) (*exchange.Reply, error) {
	name := exchange.PathParam(r, "name")
	for _, f := range a.functionsOf(r.Params) {
		if f.Name == name {
			return r.PlainReply(describe(f)), nil
		}
	}
	return nil, exchange.Refuse(http.StatusNotFound, "Function not found: %s", python.Excerpt(name, 200))
}

// functionsOf lists the functions of series, or those of pie charts, by name.
func (a *API) functionsOf(f exchange.Form) []*call.Function {
	if f.Get("type") == "pie" {
		return pieFunctions()
	}
	all := a.evaluator.Functions()
	list := make([]*call.Function, 0, len(all))
	for _, function := range all {
		list = append(list, function)
	}
	slices.SortFunc(list, func(a, b *call.Function) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// pieFunctions returns the modes of pie charts, for those who ask: no charts are drawn here.
func pieFunctions() []*call.Function {
	var list []*call.Function
	for _, name := range [...]string{"average", "maximum", "minimum"} {
		list = append(list, &call.Function{
			Name: name, Group: "Pie", Signature: "series", Doc: "Return the " + name,
			Params: []call.Param{{Name: "series", Type: "series", Required: true}},
		})
	}
	return list
}

// describe is functionInfo of graphite-web's functions/__init__.py. The docstrings are ours.
func describe(f *call.Function) pyjson.Object {
	params := make([]pyjson.Object, len(f.Params))
	for i, p := range f.Params {
		params[i] = describeParam(p)
	}
	return pyjson.Object{
		{Key: "name", Value: f.Name},
		{Key: "function", Value: f.Name + "(" + f.Signature + ")"},
		{Key: "description", Value: f.Doc},
		{Key: "module", Value: functionModule},
		{Key: "group", Value: f.Group},
		{Key: "params", Value: params},
	}
}

func describeParam(p call.Param) pyjson.Object {
	o := pyjson.Object{{Key: "name", Value: p.Name}, {Key: "type", Value: string(p.Type)}}
	if p.Required {
		o = append(o, pyjson.Member{Key: "required", Value: true})
	}
	if p.Default != nil {
		o = append(o, pyjson.Member{Key: "default", Value: p.Default})
	}
	if p.Multiple {
		o = append(o, pyjson.Member{Key: "multiple", Value: true})
	}
	if len(p.Options) > 0 {
		o = append(o, pyjson.Member{Key: "options", Value: p.Options})
	}
	if len(p.Suggestions) > 0 {
		o = append(o, pyjson.Member{Key: "suggestions", Value: p.Suggestions})
	}
	return o
}

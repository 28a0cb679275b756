package graphite

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/call"
)

// functionModule is where graphite-web has its functions.
const functionModule = "graphite.render.functions"

// listFunctions answers /functions: all functions, those of a group, or all by group.
func (a *api) listFunctions(r *request) (*reply, error) {
	group, grouped := r.form.get("group"), false
	switch strings.ToLower(r.form.get("grouped")) {
	case "1", "true":
		grouped = true
	}
	list, groups := object{}, map[string]object{}
	for _, f := range a.functionsOf(r.form) {
		if r.form.has("group") && group != f.Group {
			continue
		}
		shown := member{f.Name, describe(f)}
		list, groups[f.Group] = append(list, shown), append(groups[f.Group], shown)
	}
	if grouped {
		list = object{}
		for name, members := range groups {
			list = append(list, member{name, members})
		}
		list = list.sorted()
	}
	return r.plainReply(list), nil
}

// showFunction answers /functions/NAME.
func (a *api) showFunction(r *request) (*reply, error) {
	name := pathParam(r, "name")
	for _, f := range a.functionsOf(r.form) {
		if f.Name == name {
			return r.plainReply(describe(f)), nil
		}
	}
	return nil, refuse(http.StatusNotFound, "Function not found: %s", python.Excerpt(name, 200))
}

// functionsOf lists the functions of series, or those of pie charts, by name.
func (a *api) functionsOf(f form) []*call.Function {
	if f.get("type") == "pie" {
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
func describe(f *call.Function) object {
	params := make([]object, len(f.Params))
	for i, p := range f.Params {
		params[i] = describeParam(p)
	}
	return object{
		{"name", f.Name},
		{"function", f.Name + "(" + f.Signature + ")"},
		{"description", f.Doc},
		{"module", functionModule},
		{"group", f.Group},
		{"params", params},
	}
}

func describeParam(p call.Param) object {
	o := object{{"name", p.Name}, {"type", string(p.Type)}}
	if p.Required {
		o = append(o, member{"required", true})
	}
	if p.Default != nil {
		o = append(o, member{"default", p.Default})
	}
	if p.Multiple {
		o = append(o, member{"multiple", true})
	}
	if len(p.Options) > 0 {
		o = append(o, member{"options", p.Options})
	}
	if len(p.Suggestions) > 0 {
		o = append(o, member{"suggestions", p.Suggestions})
	}
	return o
}

// plainReply returns a reply of /tags and /functions. Indented ones have sorted keys.
func (r *request) plainReply(v any) *reply {
	pretty := r.form.pretty()
	if pretty {
		v = sortKeys(v)
	}
	return &reply{contentType: jsonType, pretty: pretty, write: func(j *jsonWriter) { j.value(v) }}
}

// pathParam returns a part of the path as it was meant.
func pathParam(r *request, name string) string {
	text := chi.URLParam(r.Request, name)
	if r.URL.RawPath == "" { // then the router saw the path unescaped
		return text
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

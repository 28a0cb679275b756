package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/formats"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// renderKey returns all that the answer to a render request depends on but the time at which it is
// evaluated. The function of jsonp is put around the answer of each, but becomes a part of pictures.
func renderKey(f exchange.Form) string {
	key := url.Values{}
	for name := range f {
		if !passedOver(f, name) {
			key.Set(name, f.Get(name))
		}
	}
	delete(key, "target[]")
	key["target"] = targetsOf(f)
	return key.Encode()
}

// passedOver reports whether a parameter of render changes nothing in the answer: what front ends add so that no
// cache has it, and what graphite-web's own cache is told.
func passedOver(f exchange.Form, name string) bool {
	switch name {
	case "cacheTimeout", "noCache", "local", "localOnly":
		return true
	case "jsonp":
		return !asksPicture(f)
	}
	return strings.HasPrefix(name, "_")
}

// targetsOf returns the targets of a render request.
func targetsOf(f exchange.Form) (list []string) {
	for _, t := range f.List("target") {
		if strings.TrimSpace(t) != "" {
			list = append(list, t)
		}
	}
	return list
}

// asksPicture reports whether the answer is a picture, as it is in graphite-web where it is nothing else.
func asksPicture(f exchange.Form) bool {
	if f.Get("graphType") == "pie" {
		return true
	}
	format := formatOf(f)
	_, known := formats.All()[format]
	return !known && format != "json" && !f.AsksProtobuf()
}

// formatOf returns the format that a request asks for: the parameters rawData and pickle are older words
// for two of them.
func formatOf(f exchange.Form) string {
	switch {
	case f.Has("format"):
		return f.Get("format")
	case f.Has("rawData"):
		return "raw"
	case f.Has("pickle"):
		return "pickle"
	}
	return ""
}

// formatted returns the answer in one of the formats.
func (d *renderRequest) formatted(format formats.Format, list []*series.Series) (*exchange.Reply, error) {
	if format.Check != nil {
		if err := format.Check(list); err != nil {
			return nil, exchange.Refuse(http.StatusBadRequest, "%v", err)
		}
	}
	return &exchange.Reply{
		ContentType: format.ContentType, Header: neverCached(), Callable: format.IsJSON, Pretty: d.pretty,
		Write: func(j *pyjson.Writer) { format.Write(j, list, d.request.Zone) },
	}, nil
}

// neverCached are graphite-web's headers when it caches nothing.
func neverCached() map[string]string {
	return map[string]string{"Cache-Control": "max-age=0, no-cache, no-store, must-revalidate, private"}
}

package graphite

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/singleflight"
)

// shared returns the reply to a request, which equal ones that are asked at the same time get too.
func (a *api) shared(ctx context.Context, key string, compute func(ctx context.Context) (*reply, error)) (*reply, error) {
	share, err := a.replies.Reply(ctx, key, compute)
	if err != nil {
		return nil, err
	}
	own := *share.Answer
	own.release = share.Release
	return &own, nil
}

// renderKey returns all that the answer to a render request depends on but the time at which it is
// evaluated. The function of jsonp is put around the answer of each, but becomes a part of pictures.
func (f form) renderKey() string {
	key := url.Values{}
	for name := range f {
		if !f.passedOver(name) {
			key.Set(name, f.get(name))
		}
	}
	delete(key, "target[]")
	key["target"] = f.targets()
	return key.Encode()
}

// passedOver reports whether a parameter of render changes nothing in the answer: what front ends add so that no
// cache has it, and what graphite-web's own cache is told.
func (f form) passedOver(name string) bool {
	switch name {
	case "cacheTimeout", "noCache", "local", "localOnly":
		return true
	case "jsonp":
		return !f.asksPicture()
	}
	return strings.HasPrefix(name, "_")
}

// targets returns the targets of a render request.
func (f form) targets() (list []string) {
	for _, t := range f.list("target") {
		if strings.TrimSpace(t) != "" {
			list = append(list, t)
		}
	}
	return list
}

// asksPicture reports whether the answer is a picture, as it is in graphite-web where it is nothing else.
func (f form) asksPicture() bool {
	if f.get("graphType") == "pie" {
		return true
	}
	format := formatOf(f)
	_, known := renderFormats()[format]
	return !known && format != "json" && !f.asksProtobuf()
}

// encodedOnce returns a reply with its body in memory, which is encoded once for all that get it. A body
// for which there is no memory is encoded by each.
func encodedOnce(ctx context.Context, p *reply) (*reply, error) {
	body, err := singleflight.Encode(ctx, func(w io.Writer) {
		j := newJSONWriter(w)
		j.pretty, j.raw = p.pretty, p.raw
		p.write(j)
		j.flush()
	})
	if body == nil {
		return p, err
	}
	out := *p
	out.pretty = false
	out.write = func(j *jsonWriter) { _, _ = body.WriteTo(j) }
	return &out, nil
}

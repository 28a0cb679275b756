// Package exchange has a request to graphite-web's HTTP API with its parameters, and a reply to it: forms as
// Django reads them, and the errors that have a status.
package exchange

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
)

// A Request is an HTTP request with its parameters read. Its context ends with the client and with
// the timeout.
type Request struct {
	*http.Request
	Params  Form
	Message []byte // of a route with bodyBytes; nil: it has been read as a form
}

// A Reply is an answer of status 200. Everything that can fail has been done when there is one.
type Reply struct {
	ContentType string
	Header      map[string]string
	Write       func(*pyjson.Writer) // the body
	Pretty      bool                 // the body is indented
	Raw         bool                 // the body's texts may hold more than ASCII
	JSONP       string               // the body is the argument of a call that begins so; see form.call
	Callable    bool                 // it may get a call: the body is JSON, and may be shared with other requests
	Release     func()               // gives up what the reply shares, when it has been sent; may be nil
}

// PlainReply returns a reply of /tags and /functions. Indented ones have sorted keys.
func (r *Request) PlainReply(v any) *Reply {
	pretty := r.Params.Pretty()
	if pretty {
		v = pyjson.SortKeys(v)
	}
	return &Reply{ContentType: pyjson.ContentType, Pretty: pretty, Write: func(j *pyjson.Writer) { j.Value(v) }}
}

// PathParam returns a part of the path as it was meant.
func PathParam(r *Request, name string) string {
	text := chi.URLParam(r.Request, name)
	if r.URL.RawPath == "" { // then the router saw the path unescaped
		return text
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// MetricsReply returns a reply of an endpoint below /metrics: for a client that sends Accept, text
// is not escaped.
func (r *Request) MetricsReply(write func(*pyjson.Writer)) (*Reply, error) {
	call, err := r.Params.JSONP()
	if err != nil {
		return nil, err
	}
	if call == "(" {
		call = "" // Here an empty name is none, as in graphite-web.
	}
	out := &Reply{
		ContentType: pyjson.ContentType, JSONP: call, Pretty: r.Params.Pretty(), Write: write,
		Header: map[string]string{"Cache-Control": "no-cache", "Pragma": "no-cache"},
	}
	if accept := r.Header.Get("Accept"); accept != "" && accept != pyjson.ContentType {
		out.Raw, out.ContentType = true, pyjson.ContentType+";charset=utf-8"
	}
	return out, nil
}

// MessageReply returns a reply whose body is a message.
func MessageReply(message []byte, contentType string) *Reply {
	return &Reply{ContentType: contentType, Raw: true, Write: func(j *pyjson.Writer) { j.Buf = append(j.Buf, message...) }}
}

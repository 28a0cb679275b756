//go:build ignore

// Command record is a proxy that writes down what clients of a Prometheus ask and what it answers:
//
//	go run record.go LISTEN PROMETHEUS FILE
//
// A line of FILE is a request with its answer, as JSON. A request that was recorded before is left out, and so is an
// answer that differs at each start. The paths of Mimir are passed on as those of Prometheus.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

// An exchange is a request and its answer. Bytes are text where they are UTF-8, else in base64.
type exchange struct {
	Method, URI string
	Header      map[string]string
	Text        string `json:",omitempty"`
	Bytes       []byte `json:",omitempty"`

	Status      int
	Type        string // of the answer
	AnswerText  string `json:",omitempty"`
	AnswerBytes []byte `json:",omitempty"`
}

// noAnswer are paths whose answers are about a process, not about its data.
var noAnswer = []string{"/api/v1/status/", "/metrics", "/-/", "/api/v1/targets"}

type recorder struct {
	mu   sync.Mutex // guards all below
	seen map[string]bool
	out  *json.Encoder
}

func (r *recorder) add(e exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := e.Method + e.URI + e.Text + string(e.Bytes)
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	if err := r.out.Encode(e); err != nil {
		log.Fatal(err)
	}
}

func split(b []byte) (text string, raw []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

// path returns the path of a Prometheus that takes a request.
func path(asked string) string {
	switch asked {
	case "/api/v1/push":
		return "/api/v1/write"
	case "/otlp/v1/metrics":
		return "/api/v1/otlp/v1/metrics"
	}
	return strings.TrimPrefix(asked, "/prometheus")
}

func main() {
	target, err := url.Parse("http://" + os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.OpenFile(os.Args[3], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	rec := &recorder{seen: map[string]bool{}, out: json.NewEncoder(file)}
	rec.out.SetEscapeHTML(false)
	http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			log.Print(err)
			return
		}
		e := exchange{Method: r.Method, URI: r.URL.RequestURI(), Header: map[string]string{}}
		for name := range r.Header {
			if name != "Accept-Encoding" && name != "Content-Length" && !strings.HasPrefix(name, "Traceparent") {
				e.Header[name] = r.Header.Get(name)
			}
		}
		e.Text, e.Bytes = split(body)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ModifyResponse = func(a *http.Response) error {
			answer, err := io.ReadAll(a.Body)
			if err != nil {
				return err
			}
			a.Body = io.NopCloser(bytes.NewReader(answer))
			e.Status, e.Type = a.StatusCode, a.Header.Get("Content-Type")
			for _, p := range noAnswer {
				if strings.HasPrefix(r.URL.Path, p) {
					answer = nil
				}
			}
			e.AnswerText, e.AnswerBytes = split(answer)
			rec.add(e)
			return nil
		}
		r.Body, r.URL.Path = io.NopCloser(bytes.NewReader(body)), path(r.URL.Path)
		r.Header.Del("Accept-Encoding")
		proxy.ServeHTTP(w, r)
	}))
}

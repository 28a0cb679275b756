package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// Origins are the pages whose scripts may use the API from other origins than its own (CORS), as
// tsd.http.request.cors_domains has them. "*" is every page; pages that are named may also change
// things. A nil Origins names none.
type Origins struct {
	any     bool
	named   map[string]bool // in upper case
	headers string
}

// NewOrigins returns the origins of a list. headers are what pages may send.
func NewOrigins(list []string, headers string) *Origins {
	o := &Origins{named: map[string]bool{}, headers: headers}
	for _, origin := range list {
		if origin == "*" {
			o.any = true
		} else {
			o.named[strings.ToUpper(origin)] = true
		}
	}
	return o
}

// Foreign reports whether a request that changes something may come from a page of another origin that is
// not named. Browsers tell the origin of a POST. Of a GET, which any link or picture of a page can be,
// they tell it over HTTPS only, so a GET of a browser needs a sign that it comes from here.
func (o *Origins) Foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		return (o == nil || !o.named[strings.ToUpper(origin)]) && !isHere(origin, r)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		browser := strings.HasPrefix(r.Header.Get("User-Agent"), "Mozilla/")
		return browser && r.Method != http.MethodPost && !isHere(r.Header.Get("Referer"), r)
	}
	return true
}

// isHere reports whether a URL names the host that a request is for.
func isHere(address string, r *http.Request) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.Host == r.Host
}

// Check refuses a change by a page of another origin.
func (o *Origins) Check(r *http.Request) error {
	if o.Foreign(r) {
		return Error{Status: http.StatusForbidden, Message: "Changes from pages of another origin are refused"}
	}
	return nil
}

// Handler answers the questions of browsers about other origins, and adds to answers which may read them.
// Without origins it passes everything on, as a TSD does, and no page of another origin can read.
func (o *Origins) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		asked := r.Method == http.MethodOptions
		if o == nil || !o.any && len(o.named) == 0 || origin == "" {
			if asked {
				WriteError(w, r, NotAllowed(r.Method, EveryMethod()...))
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Add("Vary", "Origin")
		if !o.any && !o.named[strings.ToUpper(origin)] {
			WriteError(w, r, Error{
				Status: http.StatusOK, Message: "CORS domain not allowed", Details: "The domain [" + origin + "] is not permitted access", // a TSD's status
			})
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", o.headers)
		if asked {
			w.WriteHeader(http.StatusOK)
			return
		}
		next.ServeHTTP(w, r)
	})
}

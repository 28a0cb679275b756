package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Prefix returns the path of an external URL without its last slash, "" for one without a path. url may be empty.
func Prefix(external string) (string, error) {
	if external == "" {
		return "", nil
	}
	u, err := url.Parse(external)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is not a URL such as https://host/path/", external)
	}
	return strings.TrimRight(u.Path, "/"), nil
}

// Under serves what is asked for below prefix as if it were asked for at /, so that a proxy may pass on paths as they
// are. What is asked for without the prefix is served as well, since other proxies cut it off.
func Under(prefix string, next http.Handler) http.Handler {
	if prefix == "" {
		return next
	}
	cut := http.StripPrefix(prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == prefix:
			http.Redirect(w, r, prefix+"/", http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, prefix+"/"):
			cut.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

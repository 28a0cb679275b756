package api

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// old answers the paths of OpenTSDB 1, which are not below /api. Their errors are short.
func (a *API) old(w http.ResponseWriter, r *httpapi.Request) error {
	switch r.Rest[0] {
	case "aggregators":
		return httpapi.WriteOld(w, r, aggregate.Names())
	case "suggest":
		names, err := a.suggested(w, r)
		if err != nil {
			return err
		}
		return httpapi.WriteOld(w, r, names)
	case "version":
		return a.oldVersion(w, r)
	case "q":
		return a.queries.ServeOld(w, r)
	case "stats":
		return a.oldStats(w, r)
	case "logs":
		return httpapi.WriteOldError(w, http.StatusBadRequest, "The log is where the process writes it, it is not served here")
	case "":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, "tsdbridge %s answers OpenTSDB's API here.\n", a.o.Version)
		return nil
	}
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, "<!DOCTYPE html><title>Page Not Found</title><h1>Page Not Found</h1>The requested URL was not found on this server.\n")
	return nil
}

// oldPath returns the path of OpenTSDB 1 that a request goes to; false: it is below /api.
func oldPath(path string) (string, bool) {
	first, _, _ := strings.Cut(strings.ToLower(strings.Trim(path, "/")), "/")
	return first, first != "api"
}

func (a *API) oldVersion(w http.ResponseWriter, r *httpapi.Request) error {
	if r.URL.Query().Has("json") {
		return httpapi.WriteOld(w, r, a.build())
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = fmt.Fprintf(w, "tsdbridge %s\n", a.o.Version)
	return nil
}

package uids

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A Renamer gives the UIDs of names other names; a store is one.
type Renamer interface {
	Rename(ctx context.Context, kind storage.NameKind, from, to string) error
}

// renamed is the answer to a rename, in the order of a TSD's fields.
type renamed struct {
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

// rename answers /api/uid/rename: the UID of a name gets another name.
func (a *API) rename(w http.ResponseWriter, r *httpapi.Request) error {
	if r.Verb != http.MethodGet && r.Verb != http.MethodPost {
		return httpapi.Error{ // without the blank, as a TSD prints it here
			Allow: httpapi.ReadWrite(), Status: http.StatusMethodNotAllowed, Message: "Method not allowed", Details: "The HTTP method[" + r.Verb + "] is not permitted for this endpoint",
		}
	}
	if err := a.edits.Check(r.Request); err != nil {
		return err
	}
	n, err := renameParameters(w, r)
	if err != nil {
		return err
	}
	if err := a.renameAs(r.Context(), n); err != nil {
		if !isRefusedRename(err) {
			return err
		}
		httpapi.WriteJSON(w, r.Request, http.StatusBadRequest, renamed{"false", err.Error()})
		return nil
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, renamed{Result: "true"})
	return nil
}

// A nameError is a name, or a kind of names, that cannot be; a TSD's IllegalArgumentException.
type nameError struct{ error }

// isRefusedRename reports whether an error is an answer of a TSD: the rename cannot be.
func isRefusedRename(err error) bool {
	_, argument := errors.AsType[nameError](err)
	_, none := errors.AsType[storage.NoNameError](err)
	_, taken := errors.AsType[storage.NameTakenError](err)
	return argument || none || taken || errors.Is(err, storage.ErrRenaming) || errors.Is(err, storage.ErrName)
}

// renameAs checks names and renames, in the order of a TSD.
func (a *API) renameAs(ctx context.Context, n renaming) error {
	for _, name := range []string{n.from, n.to} {
		if err := httpapi.CheckName(n.kind, name, a.o.SpecialChars); err != nil {
			return nameError{err}
		}
	}
	for _, kind := range storage.NameKinds() {
		if strings.EqualFold(n.kind, kind.String()) {
			return a.o.Renamer.Rename(ctx, kind, n.from, n.to)
		}
	}
	return nameError{errors.New("Unknown type name")}
}

// renaming is what a request asks for. The kind is as it was sent.
type renaming struct{ kind, from, to string }

// renameParameters reads a rename from the body, or from the parameters of a GET, where a value that is
// empty is none. Of several kinds a TSD takes the last one of a HashMap, which the orders are of.
func renameParameters(w http.ResponseWriter, r *httpapi.Request) (n renaming, err error) {
	values, order := map[string]string{}, []string{"metric", "tagv", "tagk"}
	if r.Verb == http.MethodPost {
		order = []string{"metric", "tagk", "tagv"}
		if values, err = renameBody(w, r); err != nil {
			return n, err
		}
	} else {
		for _, name := range append(order, "name") {
			if value := r.Last(name); value != "" {
				values[name] = value
			}
		}
	}
	for kind, from := range values { // a kind that is unknown, or in other letters
		if kind != "name" {
			n.kind, n.from = kind, from
		}
	}
	for _, kind := range order {
		if from, ok := values[kind]; ok {
			n.kind, n.from = kind, from
		}
	}
	to, ok := values["name"]
	if n.to = to; n.kind == "" || !ok {
		return n, httpapi.BadRequest("Missing necessary values to rename UID")
	}
	return n, nil
}

func renameBody(w http.ResponseWriter, r *httpapi.Request) (map[string]string, error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, httpapi.ErrNoContent
	}
	o, err := jackson.ParseMembers(body)
	if err != nil {
		return nil, httpapi.BadJSON(err)
	}
	values := make(map[string]string, len(o))
	for name := range o {
		text, given, err := o.Text(name)
		if err != nil {
			return nil, httpapi.BadJSON(err)
		}
		if given {
			values[name] = text
		}
	}
	return values, nil
}

// Renames reports whether a request may take as long as its client waits: a name may be one of many
// series.
func Renames(path httpapi.Path) bool {
	return path.Endpoint == "uid" && len(path.Rest) > 0 && strings.EqualFold(path.Rest[0], "rename")
}

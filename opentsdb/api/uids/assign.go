package uids

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage"
)

// maxAssigned bounds the names of one request.
const maxAssigned = 100_000

// assign answers /api/uid/assign: new names get UIDs, for those that have one it is an error.
func (a *API) assign(w http.ResponseWriter, r *httpapi.Request) error {
	if r.Verb != http.MethodGet && r.Verb != http.MethodPost {
		return httpapi.NotAllowed(r.Verb, httpapi.ReadWrite()...)
	}
	if err := a.edits.Check(r.Request); err != nil {
		return err
	}
	names, err := assignParameters(w, r)
	if err != nil {
		return err
	}
	answer, status := map[string]map[string]string{}, http.StatusOK
	for _, kind := range slices.Sorted(maps.Keys(names)) {
		uids, failed, err := a.assignKind(r.Context(), kind, names[kind])
		if err != nil {
			return err
		}
		answer[kind] = uids
		if len(failed) > 0 {
			answer[kind+"_errors"], status = failed, http.StatusBadRequest
		}
	}
	httpapi.WriteJSON(w, r.Request, status, answer)
	return nil
}

// assignKind assigns the names that have no UID. failed says why others got none.
func (a *API) assignKind(ctx context.Context, kindName string, names []string) (assigned, failed map[string]string, err error) {
	assigned, failed = map[string]string{}, map[string]string{}
	kind, known := assignable(kindName)
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		err := httpapi.CheckName(kindName, name, a.o.SpecialChars)
		if err == nil && !known {
			err = errUnknownKind
		}
		if err != nil {
			failed[name] = err.Error()
		}
		return err != nil
	})
	if len(names) == 0 {
		return assigned, failed, nil
	}
	have, err := a.o.Names.Lookup(ctx, kind, names)
	if err != nil {
		return nil, nil, err
	}
	var missing []string
	for i, uid := range have {
		if uid == "" {
			missing = append(missing, names[i])
		} else {
			failed[names[i]] = fmt.Sprintf("Name already exists with UID: %X", uid)
		}
	}
	uids, errs := a.o.Names.Assign(ctx, kind, missing)
	for i, name := range missing {
		if errs != nil && errs[i] != nil {
			failed[name] = errs[i].Error()
		} else {
			assigned[name] = fmt.Sprintf("%X", uids[i])
		}
	}
	return assigned, failed, nil
}

// errUnknownKind is what a TSD tells of names of another kind.
var errUnknownKind = errors.New("Unknown type name")

// assignable returns the kind of a name, which may be in any case.
func assignable(name string) (storage.NameKind, bool) {
	for _, kind := range storage.NameKinds() {
		if strings.EqualFold(name, kind.String()) {
			return kind, true
		}
	}
	return 0, false
}

// namesReader reads lists of names by their kinds.
func namesReader(names map[string][]string) jackson.Reader {
	return jackson.Any(func(kind string) jackson.Reader {
		return func(s *jackson.Scanner) error {
			var list []string
			if s.Null() {
				return s.Fail("want a list")
			}
			err := jackson.List(&list, jackson.Text[string])(s)
			names[kind] = list
			return err
		}
	})
}

func assignParameters(w http.ResponseWriter, r *httpapi.Request) (map[string][]string, error) {
	names := map[string][]string{}
	if r.Verb == http.MethodPost {
		body, err := httpapi.ReadBody(w, r)
		if err != nil {
			return nil, err
		}
		if len(body) == 0 {
			return nil, httpapi.ErrNoContent
		}
		if err := jackson.Read(body, namesReader(names)); err != nil {
			return nil, httpapi.BadJSON(err)
		}
	} else {
		for _, kind := range storage.NameKinds() {
			if values := strings.TrimRight(r.Last(kind.String()), ","); values != "" { // Java's split leaves out the last empty ones
				names[kind.String()] = strings.Split(values, ",")
			}
		}
	}
	n := len(names)
	for _, list := range names {
		n += len(list)
	}
	switch {
	case n == 0:
		return nil, httpapi.BadRequest("Missing values to assign UIDs")
	case n > maxAssigned:
		return nil, httpapi.BadRequest(fmt.Sprintf("At most %d names can be assigned at once", maxAssigned))
	}
	return names, nil
}

package trees

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// treeDefinition answers /api/tree: it shows, makes, changes and deletes definitions.
func (a *API) treeDefinition(w http.ResponseWriter, r *httpapi.Request) error {
	asked, err := a.parseTree(w, r)
	if err != nil {
		return err
	}
	switch r.Verb {
	case http.MethodGet:
		return a.showTrees(w, r, asked.id)
	case http.MethodPost, http.MethodPut:
		if asked.id > 0 {
			return a.editTree(w, r, asked)
		}
		return a.createTree(w, r, asked)
	case http.MethodDelete:
		return a.deleteTree(w, r, asked)
	}
	return errTreeMethod
}

// A treeRequest is what a client sends about a tree. Fields that were not sent are nil.
type treeRequest struct {
	id                                  int
	name, description, notes            *string
	enabled, strictMatch, storeFailures *bool
	created                             int64
	definition                          bool // delete it too
}

// change returns how a request changes a definition. With all, what was not sent becomes empty.
func (t *treeRequest) change(all bool) func(*schema.Tree) {
	return func(to *schema.Tree) {
		set(&to.Name, t.name, all)
		set(&to.Description, t.description, all)
		set(&to.Notes, t.notes, all)
		set(&to.Enabled, t.enabled, all)
		set(&to.StrictMatch, t.strictMatch, all)
		set(&to.StoreFailures, t.storeFailures, all)
	}
}

func set[V any](to, value *V, all bool) {
	var zero V
	switch {
	case value != nil:
		*to = *value
	case all:
		*to = zero
	}
}

// changes reports whether anything was sent that changes a tree.
func (t *treeRequest) changes() bool {
	return t.name != nil || t.description != nil || t.notes != nil || t.enabled != nil || t.strictMatch != nil || t.storeFailures != nil
}

// setText takes a text; an empty one is as if it was not sent.
func setText(to **string, text string) {
	if text != "" {
		*to = &text
	}
}

// setFlag takes a flag; all but true is false.
func setFlag(to **bool, text string) {
	is := strings.EqualFold(text, "true")
	*to = &is
}

// parseTree reads the body of a request, or the parameters of one without a body.
func (a *API) parseTree(w http.ResponseWriter, r *httpapi.Request) (treeRequest, error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return treeRequest{}, err
	}
	if len(body) > 0 {
		return parseTreeJSON(body)
	}
	v := r.Values()
	t := treeRequest{created: a.o.Now().Unix()} // as a TSD, which leaves 0 where there is a body
	if t.id, err = treeID(v); err != nil {
		return t, err
	}
	for name, value := range v {
		t.set(name, value[len(value)-1], map[string]string{"strictmatch": "strict_match", "storefailures": "store_failures"})
	}
	return t, nil
}

// set takes a field. Some have other names in parameters than in JSON.
func (t *treeRequest) set(name, value string, other map[string]string) {
	is := func(field string) bool {
		if otherwise, ok := other[field]; ok {
			return name == otherwise
		}
		return name == field
	}
	switch {
	case is("name"):
		setText(&t.name, value)
	case is("description"):
		setText(&t.description, value)
	case is("notes"):
		setText(&t.notes, value)
	case is("enabled"):
		setFlag(&t.enabled, value)
	case is("strictmatch"):
		setFlag(&t.strictMatch, value)
	case is("storefailures"):
		setFlag(&t.storeFailures, value)
	case is("definition"):
		t.definition = strings.EqualFold(value, "true")
	}
}

// parseTreeJSON reads a body. Names are of any case, but for definition.
func parseTreeJSON(body []byte) (t treeRequest, err error) {
	fields, err := jackson.ParseMembers(body)
	if err != nil {
		return t, httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to parse the given JSON", Details: err.Error()}
	}
	for name := range fields {
		text, given, err := fields.Text(name)
		if err != nil {
			return t, httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to parse the given JSON", Details: err.Error()}
		}
		lower := strings.ToLower(name)
		switch {
		case !given || lower == "definition" && name != lower:
		case lower == "treeid":
			id, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return t, httpapi.BadRequest("Unable to parse 'tree' value")
			}
			t.id = int(id)
		default:
			t.set(lower, text, nil)
		}
	}
	return t, nil
}

// treeBytes is what a tree or a rule takes in an answer, by estimate.
const treeBytes = 1 << 10

// showTrees answers with a tree, or with all of them.
func (a *API) showTrees(w http.ResponseWriter, r *httpapi.Request, id int) error {
	if id != 0 {
		return a.showTree(w, r, id)
	}
	all, err := a.o.Trees.All(r.Context())
	if err != nil {
		return err
	}
	shown := make([]shownTree, 0, len(all))
	for _, d := range all {
		if err := query.AccountOf(r.Context()).Take(treeBytes * int64(1+len(d.Rules))); err != nil {
			return err
		}
		shown = append(shown, showTree(d))
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, shown)
	return nil
}

func (a *API) showTree(w http.ResponseWriter, r *httpapi.Request, id int) error {
	d, err := a.definition(r.Context(), id)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, showTree(d))
	return nil
}

func (a *API) createTree(w http.ResponseWriter, r *httpapi.Request, asked treeRequest) error {
	if asked.name == nil {
		return httpapi.Illegal("Tree was missing the name")
	}
	t := schema.Tree{Created: asked.created}
	asked.change(true)(&t)
	id, err := a.o.Trees.Create(r.Context(), t)
	if err != nil {
		return err
	}
	return a.showTree(w, r, int(id))
}

// editTree changes what was sent; a PUT empties the rest.
func (a *API) editTree(w http.ResponseWriter, r *httpapi.Request, asked treeRequest) error {
	if _, err := a.definition(r.Context(), asked.id); err != nil {
		return err
	}
	if !asked.changes() {
		unchanged(w)
		return nil
	}
	if err := a.o.Trees.Edit(r.Context(), uint16(asked.id), asked.change(r.Verb == http.MethodPut)); err != nil {
		return err
	}
	return a.showTree(w, r, asked.id)
}

// deleteTree deletes the branches of a tree, and the tree itself if the request says so. A request that
// its client gave up may be sent again.
func (a *API) deleteTree(w http.ResponseWriter, r *httpapi.Request, asked treeRequest) error {
	d, err := a.definition(r.Context(), asked.id)
	if err != nil {
		return err
	}
	begin := time.Now()
	if asked.definition {
		err = a.o.Trees.Remove(r.Context(), d.ID)
	} else {
		err = a.o.Trees.Clear(r.Context(), d.ID)
	}
	if err != nil {
		return err
	}
	a.o.Logger.Info("tree deleted", "tree", d.ID, "name", d.Name, "definition", asked.definition, "duration", time.Since(begin))
	done(w)
	return nil
}

package trees

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// mostTSUIDs bounds the series of one request about a tree.
const mostTSUIDs = 10_000

// A tsuidRequest is what a client sends about series in a tree: TSUIDs as it wrote them.
type tsuidRequest struct {
	tree   int
	tsuids []string
}

// parseTSUIDs reads the body of a request, or the parameters of one without a body. badList is the
// answer to a list that is none.
func parseTSUIDs(w http.ResponseWriter, r *httpapi.Request, badList func(error) error) (q tsuidRequest, err error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return q, err
	}
	if len(body) > 0 {
		q, err = parseTSUIDsJSON(body, badList)
	} else {
		q, err = parseTSUIDsParameters(r)
	}
	if err == nil && len(q.tsuids) > mostTSUIDs {
		err = httpapi.BadRequest(fmt.Sprintf("At most %d TSUIDs can be asked for at once", mostTSUIDs))
	}
	return q, err
}

func parseTSUIDsParameters(r *httpapi.Request) (q tsuidRequest, err error) {
	v := r.Values()
	if q.tree, err = requiredTreeID(v); err != nil {
		return q, err
	}
	if text, given := v.Last("tsuids"); given {
		q.tsuids = splitTSUIDs(text)
	}
	return q, nil
}

// splitTSUIDs splits at commas as Java does: without the empty ones at the end, but for a text that
// is empty itself.
func splitTSUIDs(text string) []string {
	trimmed := strings.TrimRight(text, ",")
	if trimmed == "" && text != "" {
		return nil
	}
	return strings.Split(trimmed, ",")
}

// parseTSUIDsJSON reads an object with a treeId, which must be a number, and a list of tsuids.
func parseTSUIDsJSON(body []byte, badList func(error) error) (q tsuidRequest, err error) {
	fields, err := jackson.ParseMembers(body)
	if err != nil {
		return q, unreadable(err)
	}
	switch raw := fields["treeId"]; {
	case raw == nil || string(raw) == "null":
		return q, httpapi.BadRequest("Missing or invalid Tree ID")
	default:
		var id int32
		if err := json.Unmarshal(raw, &id); err != nil {
			return q, unreadable(jackson.Misread(err, "a number of 32 bits in treeId"))
		}
		q.tree = int(id)
	}
	if raw := fields["tsuids"]; raw != nil && !bytes.Equal(raw, []byte("null")) {
		if err := json.Unmarshal(raw, &q.tsuids); err != nil {
			return q, badList(jackson.Misread(err, "a list of texts in tsuids"))
		}
	}
	return q, nil
}

// bytes returns the TSUIDs.
func (q *tsuidRequest) bytes() ([][]byte, error) {
	all := make([][]byte, 0, len(q.tsuids))
	for _, text := range q.tsuids {
		if text == "" {
			return nil, httpapi.Illegal("UID was empty")
		}
		tsuid, err := parseHex(text)
		if err != nil {
			return nil, err
		}
		all = append(all, tsuid)
	}
	return all, nil
}

// asks reports whether a method only asks, as all do that these parts of the API have.
func asks(method string) bool {
	return method == http.MethodGet || method == http.MethodPost || method == http.MethodPut
}

// treeCollisions answers /api/tree/collisions.
func (a *API) treeCollisions(w http.ResponseWriter, r *httpapi.Request) error {
	return a.treeFailures(w, r, true)
}

// treeNotMatched answers /api/tree/notmatched.
func (a *API) treeNotMatched(w http.ResponseWriter, r *httpapi.Request) error {
	return a.treeFailures(w, r, false)
}

// treeFailures shows the series that a tree has no place for.
func (a *API) treeFailures(w http.ResponseWriter, r *httpapi.Request, collisions bool) error {
	asked, err := parseTSUIDs(w, r, func(err error) error {
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to convert the given data to a list", Details: err.Error()}
	})
	if err != nil {
		return err
	}
	d, err := a.definition(r.Context(), asked.tree)
	if err != nil {
		return err
	}
	if !asks(r.Verb) {
		return errTreeMethod
	}
	tsuids, err := asked.bytes()
	if err != nil {
		return err
	}
	found, err := a.o.Trees.Failures(r.Context(), d.ID, collisions, tsuids, mostListed)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, found)
	return nil
}

// A testedSeries is what would become of a series in a tree.
type testedSeries struct {
	Meta     *schema.DescribedSeries `json:"meta"`
	Messages []string                `json:"messages"`
	Branch   *shownBranch            `json:"branch"`
}

// treeTest answers /api/tree/test: it runs series through the rules of a tree and stores nothing. A
// TSD shows all series of a request in the branches of the last one.
func (a *API) treeTest(w http.ResponseWriter, r *httpapi.Request) error {
	asked, err := parseTSUIDs(w, r, unreadable)
	if err != nil {
		return err
	}
	d, err := a.definition(r.Context(), asked.tree)
	if err != nil {
		return err
	}
	if len(asked.tsuids) == 0 {
		return httpapi.BadRequest("Missing or empty TSUID list")
	}
	if !asks(r.Verb) {
		return errTreeMethod
	}
	tsuids, err := asked.bytes()
	if err != nil {
		return err
	}
	return a.evaluator.Compute(r.Context(), r.RemoteAddr, "tree/test "+r.URL.RawQuery, func(ctx context.Context) error {
		tested, err := a.testSeries(ctx, d.ID, tsuids)
		if err != nil {
			return err
		}
		shown := make(map[string]testedSeries, len(tested))
		for i, text := range asked.tsuids {
			shown[text] = tested[i]
		}
		httpapi.WriteJSON(w, r.Request, http.StatusOK, shown)
		return nil
	})
}

// testSeries runs series through the rules of a tree.
func (a *API) testSeries(ctx context.Context, id uint16, tsuids [][]byte) ([]testedSeries, error) {
	documents, err := a.o.Documents.DescribeSeries(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	named, err := a.o.Series.NameSeries(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	explained, err := a.o.Trees.Explain(ctx, id, named)
	if err != nil {
		return nil, err
	}
	routes := make(map[string]tree.Explanation, len(named))
	for i, s := range named {
		routes[string(s.TSUID)] = explained[i]
	}
	tested := make([]testedSeries, len(tsuids))
	for i, tsuid := range tsuids {
		e, ok := routes[string(tsuid)]
		switch {
		case documents[i] == nil:
			tested[i].Messages = []string{"Unable to locate TSUID meta data"}
		case !ok:
			tested[i].Messages = []string{"TSUID was missing a UID name: " + nameless(documents[i])}
		default:
			if err := query.AccountOf(ctx).Take(testedBytes(e)); err != nil {
				return nil, err
			}
			tested[i] = testedSeries{Meta: documents[i], Messages: messagesOf(e), Branch: showRoute(id, e.Route, tsuid)}
		}
	}
	return tested, nil
}

// testedBytes is what a series takes in an answer, by estimate: each branch has the names above it.
func testedBytes(e tree.Explanation) int64 {
	bytes := 4 << 10
	for i, name := range e.Route.Branches {
		bytes += 256 + len(name)*(len(e.Route.Branches)-i)
	}
	for _, message := range e.Messages {
		bytes += len(message)
	}
	return int64(bytes)
}

// messagesOf returns what a TSD reports, and the failure for which a TSD has no answer.
func messagesOf(e tree.Explanation) []string {
	messages := append([]string{}, e.Messages...)
	if e.Route.Outcome == tree.Failed {
		messages = append(messages, e.Route.Unmatched)
	}
	return messages
}

// nameless returns a TSD's words for a UID without a name.
func nameless(s *schema.DescribedSeries) string {
	for kind, uid := range s.UIDs() {
		if uid.Name == "" {
			return fmt.Sprintf("No such unique ID for '%s': %X", kind.Plural(), uid.UID)
		}
	}
	return "No such unique ID"
}

package trees

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// mostRules bounds the rules of one request.
const mostRules = 1000

// treeRules answers /api/tree/rules: it changes, replaces and deletes the rules of a tree. A TSD has
// deleted all rules before it finds that one of the new ones is wrong, and has stored the first ones
// when it finds one that changes nothing; here all are stored or none.
func (a *API) treeRules(w http.ResponseWriter, r *httpapi.Request) error {
	id, rules, err := parseRules(w, r)
	if err != nil {
		return err
	}
	d, err := a.definition(r.Context(), id)
	if err != nil {
		return err
	}
	switch r.Verb {
	case http.MethodPost, http.MethodPut:
		if len(rules) == 0 {
			return errNoRules
		}
		err = a.putRules(r, d, rules)
	case http.MethodDelete:
		err = a.o.Trees.ReplaceRules(r.Context(), d.ID, nil)
	default:
		return errTreeMethod
	}
	if err != nil {
		return err
	}
	done(w)
	return nil
}

var errNoRules = httpapi.BadRequest("Missing tree rules")

// putRules stores rules one after the other; a PUT has no others stay.
func (a *API) putRules(r *httpapi.Request, d tree.Definition, rules []ruleRequest) error {
	all := r.Verb == http.MethodPut
	if all {
		d.Rules = nil
	}
	edits := make([]forest.RuleEdit, 0, len(rules))
	for i := range rules {
		edit, made, err := rules[i].edit(d, all)
		if err != nil {
			return err
		}
		edits = append(edits, edit)
		d.Rules = append(slices.DeleteFunc(slices.Clone(d.Rules), made.SamePlace), made)
	}
	if all {
		return a.o.Trees.ReplaceRules(r.Context(), d.ID, d.Rules)
	}
	return a.o.Trees.EditRules(r.Context(), d.ID, edits)
}

// parseRules reads a list of rules of one tree, or without a body the parameter treeid.
func parseRules(w http.ResponseWriter, r *httpapi.Request) (id int, rules []ruleRequest, err error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return 0, nil, err
	}
	if len(body) == 0 {
		id, err = treeID(r.Values())
		return id, nil, err
	}
	var list []jackson.Members
	if err := jackson.Unmarshal(body, &list, "a list of rules"); err != nil {
		return 0, nil, unreadable(err)
	}
	if len(list) == 0 {
		return 0, nil, errNoRules
	}
	if len(list) > mostRules {
		return 0, nil, httpapi.BadRequest(fmt.Sprintf("At most %d tree rules can be stored at once", mostRules))
	}
	for _, fields := range list {
		rule, err := parseRuleJSON(fields)
		if err != nil {
			return 0, nil, err
		}
		rules = append(rules, rule)
		if rule.tree != rules[0].tree {
			return 0, nil, httpapi.BadRequest("All rules must belong to the same tree")
		}
	}
	return rules[0].tree, rules, nil
}

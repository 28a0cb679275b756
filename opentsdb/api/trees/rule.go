package trees

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// treeRule answers /api/tree/rule: it shows, changes and deletes a rule.
func (a *API) treeRule(w http.ResponseWriter, r *httpapi.Request) error {
	asked, err := parseRule(w, r)
	if err != nil {
		return err
	}
	d, err := a.definition(r.Context(), asked.tree)
	if err != nil {
		return err
	}
	switch r.Verb {
	case http.MethodGet:
		return showRuleOf(w, r, d, asked)
	case http.MethodPost, http.MethodPut:
		return a.editRule(w, r, d, asked)
	case http.MethodDelete:
		return a.deleteRule(w, r, d, asked)
	}
	return errTreeMethod
}

// A ruleRequest is what a client sends about a rule. Texts that were not sent are nil.
type ruleRequest struct {
	tree, level, order              int
	kind, field, customField        *string
	regex, separator, displayFormat *string
	description, notes              *string
	regexGroup                      int
}

// String returns what a TSD calls the rule.
func (q *ruleRequest) String() string {
	kind := "null"
	if q.kind != nil {
		kind = *q.kind
	}
	return fmt.Sprintf("[%d:%d:%d:%s]", q.tree, q.level, q.order, kind)
}

// changes reports whether anything was sent that a rule can differ in, its place too.
func (q *ruleRequest) changes() bool {
	for _, field := range []*string{q.kind, q.field, q.customField, q.regex, q.separator, q.displayFormat, q.description, q.notes} {
		if field != nil {
			return true
		}
	}
	return q.level != 0 || q.order != 0 || q.regexGroup != 0
}

// change returns a rule with what was sent. With all, what was not sent becomes empty.
func (q *ruleRequest) change(have schema.TreeRule, all bool) schema.TreeRule {
	set(&have.Type, q.kind, all)
	set(&have.Field, q.field, all)
	set(&have.CustomField, q.customField, all)
	set(&have.Regex, q.regex, all)
	set(&have.Separator, q.separator, all)
	set(&have.DisplayFormat, q.displayFormat, all)
	set(&have.Description, q.description, all)
	set(&have.Notes, q.notes, all)
	if all || q.regexGroup != 0 {
		have.RegexGroupIdx = q.regexGroup
	}
	have.Level, have.Order, have.TreeID = q.level, q.order, q.tree
	return have
}

// refusal returns why a rule cannot be, in a TSD's words, nil if it can.
func refusal(r schema.TreeRule) error {
	switch {
	case r.Order < 0:
		return httpapi.Illegal("Invalid rule order")
	case r.Type == "":
		return httpapi.Illegal("Missing rule type")
	case r.Type != "METRIC" && r.Field == "":
		return httpapi.Illegal("Missing field name required for " + r.Type + " rule")
	case strings.HasSuffix(r.Type, "_CUSTOM") && r.CustomField == "":
		return httpapi.Illegal("Missing custom field name required for " + r.Type + " rule")
	case r.RegexGroupIdx < 0:
		return httpapi.Illegal("Invalid regex group index. Cannot be less than 0")
	}
	return nil
}

// edit returns the edit of a rule, and the rule that it makes of the one that a tree has.
func (q *ruleRequest) edit(d tree.Definition, all bool) (edit forest.RuleEdit, made schema.TreeRule, err error) {
	have, _ := ruleOf(d, q.level, q.order)
	edit = forest.RuleEdit{Level: q.level, Order: q.order, Change: func(have schema.TreeRule, _ bool) (schema.TreeRule, error) {
		changed := q.change(have, all)
		return changed, refusal(changed)
	}}
	made, err = edit.Change(have, true)
	return edit, made, err
}

// ruleOf returns the rule of a place, false if there is none or it cannot be read.
func ruleOf(d tree.Definition, level, order int) (schema.TreeRule, bool) {
	for _, r := range d.Rules {
		if r.Level == level && r.Order == order && r.Type != "" {
			return r, true
		}
	}
	return schema.TreeRule{}, false
}

func showRuleOf(w http.ResponseWriter, r *httpapi.Request, d tree.Definition, asked ruleRequest) error {
	rule, ok := ruleOf(d, asked.level, asked.order)
	if !ok {
		return errNoRule(asked)
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, showRule(d.ID, rule))
	return nil
}

func errNoRule(asked ruleRequest) error {
	return httpapi.Error{Status: http.StatusNotFound, Message: "Unable to locate rule: " + asked.String()}
}

func (a *API) editRule(w http.ResponseWriter, r *httpapi.Request, d tree.Definition, asked ruleRequest) error {
	if !asked.changes() {
		unchanged(w)
		return nil
	}
	all := r.Verb == http.MethodPut
	edit, made, err := asked.edit(d, all)
	if err != nil {
		return err
	}
	have, there := ruleOf(d, asked.level, asked.order)
	if have.TreeID = asked.tree; there && !all && have == made {
		unchanged(w)
		return nil
	}
	if err := a.o.Trees.EditRules(r.Context(), d.ID, []forest.RuleEdit{edit}); err != nil {
		return err
	}
	if d, err = a.definition(r.Context(), asked.tree); err != nil {
		return err
	}
	return showRuleOf(w, r, d, asked)
}

func (a *API) deleteRule(w http.ResponseWriter, r *httpapi.Request, d tree.Definition, asked ruleRequest) error {
	if _, ok := ruleOf(d, asked.level, asked.order); !ok {
		return errNoRule(asked)
	}
	if err := a.o.Trees.DeleteRule(r.Context(), d.ID, asked.level, asked.order); err != nil {
		return err
	}
	done(w)
	return nil
}

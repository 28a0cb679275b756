package trees

import (
	"errors"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/tree/forest"
	"github.com/tsdbridge/tsdbridge/tree/javaregexp"
)

// parseRule reads the body of a request, or the parameters of one without a body.
func parseRule(w http.ResponseWriter, r *httpapi.Request) (ruleRequest, error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return ruleRequest{}, err
	}
	if len(body) == 0 {
		return parseRuleParameters(r.Values())
	}
	fields, err := jackson.ParseMembers(body)
	if err != nil {
		return ruleRequest{}, unreadable(err)
	}
	return parseRuleJSON(fields)
}

// parseRuleJSON reads an object.
func parseRuleJSON(fields jackson.Members) (q ruleRequest, err error) {
	for _, field := range []struct {
		name string
		to   *int
	}{{"treeId", &q.tree}, {"level", &q.level}, {"order", &q.order}, {"regexGroupIdx", &q.regexGroup}} {
		if *field.to, err = fields.Integer(field.name); err != nil {
			return q, unreadable(err)
		}
	}
	if q.level < 0 {
		return q, unreadable(errNegativeLevel)
	}
	if text, given, err := fields.Text("type"); err != nil {
		return q, unreadable(err)
	} else if given {
		if q.kind, err = kindOf(text); err != nil {
			return q, unreadable(err)
		}
	}
	for _, field := range q.texts() {
		text, given, err := fields.Text(field.name)
		if err != nil {
			return q, unreadable(err)
		}
		if _, sent := fields[field.name]; sent && !given { // null: the only way in which a POST can empty a field
			*field.to = new(string)
		} else {
			setText(field.to, text)
		}
	}
	if err := q.checkRegex(); err != nil {
		return q, unreadable(err)
	}
	return q, nil
}

// A ruleText is a text of a rule: its name in JSON, and as a parameter.
type ruleText struct {
	name, parameter string
	to              **string
}

func (q *ruleRequest) texts() []ruleText {
	return []ruleText{
		{"field", "field", &q.field},
		{"customField", "custom_field", &q.customField},
		{"regex", "regex", &q.regex},
		{"separator", "separator", &q.separator},
		{"displayFormat", "display_format", &q.displayFormat},
		{"description", "description", &q.description},
		{"notes", "notes", &q.notes},
	}
}

// kindOf reads the type of a rule, of any case.
func kindOf(text string) (*string, error) {
	kind := strings.ToUpper(text)
	switch kind {
	case "METRIC", "METRIC_CUSTOM", "TAGK", "TAGK_CUSTOM", "TAGV_CUSTOM":
		return &kind, nil
	case "":
		return nil, errors.New("Rule type was empty")
	}
	return nil, errors.New("Unrecognized rule type")
}

// checkRegex refuses a regular expression that cannot be run. One that is too long is refused when it is
// to be stored.
func (q *ruleRequest) checkRegex() error {
	if q.regex == nil || *q.regex == "" || len(*q.regex) > forest.LongestPattern {
		return nil
	}
	_, err := javaregexp.Size(*q.regex)
	return err
}

// parseRuleParameters reads a query string.
func parseRuleParameters(v httpapi.Values) (q ruleRequest, err error) {
	if q.tree, err = requiredTreeID(v); err != nil {
		return q, err
	}
	if text, given := v.Last("type"); given {
		if q.kind, err = kindOf(text); err != nil {
			return q, unparsed("type", err)
		}
	}
	for _, field := range q.texts() {
		text, _ := v.Last(field.parameter)
		setText(field.to, text)
	}
	if err := q.checkRegex(); err != nil {
		return q, unparsed("regex", err)
	}
	if text, given := v.Last("regex_group_idx"); given {
		if q.regexGroup, err = number(text, "Unable to parse the 'regex_group_idx' parameter"); err != nil {
			return q, err
		}
	}
	if err := q.parsePlace(v); err != nil {
		return q, err
	}
	return q, nil
}

// parsePlace reads the level and the order.
func (q *ruleRequest) parsePlace(v httpapi.Values) error {
	for _, place := range []struct {
		name string
		to   *int
	}{{"level", &q.level}, {"order", &q.order}} {
		text, err := v.Required(place.name)
		if err != nil {
			return err
		}
		if *place.to, err = number(text, "Unable to parse the '"+place.name+"' parameter"); err != nil {
			return err
		}
		if q.level < 0 {
			return httpapi.Error{Status: http.StatusInternalServerError, Message: errNegativeLevel.Error()}
		}
	}
	return nil
}

var errNegativeLevel = errors.New("Negative levels are not allowed")

func unparsed(name string, err error) error {
	return httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to parse the '" + name + "' parameter", Details: err.Error()}
}

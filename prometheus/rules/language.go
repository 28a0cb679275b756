package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"go.yaml.in/yaml/v3"
)

// PromQL is the language of rules that name none.
const PromQL = "promql"

// A Question is a query at an instant.
type Question struct {
	Text   string
	Client string // who asks
	At     time.Time
	// Window is how old a value may be, in languages that have no such rule; 0: as the evaluator
	// says.
	Window time.Duration
}

// An Evaluator evaluates queries of a language. The memory of the result is in the account of ctx.
type Evaluator interface {
	Evaluate(ctx context.Context, q Question) (promql.Vector, error)
}

// Evaluators are those of all languages, PromQL among them.
type Evaluators map[string]Evaluator

// Checks report what is wrong with the text of a query, by languages besides PromQL.
type Checks map[string]func(text string) error

// Keys of a rule or a group that Prometheus does not have.
const (
	langKey   = "lang"
	windowKey = "window"
)

// A foreign is the expression of a rule in another language. Its text has the language before it, as
// no text of PromQL can.
type foreign struct {
	language, text string
	window         time.Duration
}

var _ parser.Expr = foreign{}

// String is what the manager asks and shows: "graphite: TARGET", "graphite[10m]: TARGET".
func (f foreign) String() string {
	if f.window == 0 {
		return f.language + ": " + f.text
	}
	return f.language + "[" + model.Duration(f.window).String() + "]: " + f.text
}

// Pretty implements parser.Node.
func (f foreign) Pretty(int) string { return f.String() }

// PositionRange implements parser.Node.
func (f foreign) PositionRange() posrange.PositionRange {
	return posrange.PositionRange{End: posrange.Pos(len(f.String()))}
}

// Type implements parser.Expr.
func (foreign) Type() parser.ValueType { return parser.ValueTypeVector }

// PromQLExpr implements parser.Expr.
func (foreign) PromQLExpr() {}

// parseForeign reads what String returns, for some languages; false if the text is PromQL.
func parseForeign(text string, languages []string) (f foreign, ok bool) {
	head, rest, found := strings.Cut(text, ": ")
	if !found {
		return f, false
	}
	f.text = rest
	name, window, windowed := strings.Cut(strings.TrimSuffix(head, "]"), "[")
	if f.language = name; windowed {
		d, err := model.ParseDuration(window)
		if err != nil {
			return f, false
		}
		f.window = time.Duration(d)
	}
	return f, slices.Contains(languages, name) && f.String() == text
}

// A languageParser parses PromQL, and texts of other languages with the language before them.
type languageParser struct {
	parser.Parser
	checks        Checks
	ignoreUnknown bool // fields of rule files
}

// ParseExpr implements parser.Parser.
func (p languageParser) ParseExpr(text string) (parser.Expr, error) {
	f, ok := parseForeign(text, p.checks.names())
	if !ok {
		return p.Parser.ParseExpr(text)
	}
	if err := p.checks[f.language](f.text); err != nil {
		return nil, fmt.Errorf("%s: %w", f.language, err)
	}
	return f, nil
}

func (c Checks) names() []string {
	var names []string
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A dialect is what a rule or a group says about its language.
type dialect struct {
	language string
	window   time.Duration
}

// foreignRules takes the keys of languages out of a document and puts the languages into the
// expressions. changed is false if there were none.
func (c Checks) foreignRules(top *yaml.Node) (changed bool, err error) {
	if len(top.Content) == 0 {
		return false, nil
	}
	var errs []error
	for _, group := range below(top.Content[0], "groups").Content {
		all, taken, err := c.dialect(group, dialect{language: PromQL})
		errs, changed = append(errs, err), changed || taken
		for _, rule := range below(group, "rules").Content {
			own, taken, err := c.dialect(rule, all)
			errs, changed = append(errs, err), changed || taken
			if expr := below(rule, "expr"); own.language != PromQL && expr.Kind == yaml.ScalarNode {
				expr.SetString(foreign{own.language, strings.TrimSpace(expr.Value), own.window}.String())
				changed = true
			}
		}
	}
	return changed, errors.Join(errs...)
}

// dialect takes the keys of the language from a mapping.
func (c Checks) dialect(node *yaml.Node, d dialect) (_ dialect, taken bool, err error) {
	var errs []error
	lang, window := take(node, langKey), take(node, windowKey)
	if lang != nil {
		if lang.Value != PromQL && c[lang.Value] == nil {
			errs = append(errs, fmt.Errorf("line %d: lang %q: want %s or %s", lang.Line, lang.Value, strings.Join(c.names(), ", "), PromQL))
		}
		if d.language != lang.Value {
			d = dialect{language: lang.Value}
		}
	}
	if window != nil {
		length, err := model.ParseDuration(window.Value)
		switch {
		case err != nil || length < model.Duration(time.Second):
			errs = append(errs, fmt.Errorf("line %d: window %q: want a duration such as 10m", window.Line, window.Value))
		case d.language == PromQL:
			errs = append(errs, fmt.Errorf("line %d: window: it is for rules with lang; in PromQL write a range", window.Line))
		}
		d.window = time.Duration(length)
	}
	return d, lang != nil || window != nil, errors.Join(errs...)
}

// take removes a key of a mapping and returns its value, nil without one.
func take(node *yaml.Node, key string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			value := node.Content[i+1]
			node.Content = slices.Delete(node.Content, i, i+2)
			return value
		}
	}
	return nil
}

package tree

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Template is a shorthand for a tree whose paths can be read both ways:
// servers.{host}.{metric...}. Each element between dots is one of
//
//	text            itself
//	{name}          the value of the tag name
//	{metric}        the metric, a single element
//	{metric...}     the metric, as many elements as it has, at least one
//	{tags...}       the tags that no other element takes, each an element key=value, by key; none is one too
//
// and text may stand before and after the braces of an element: rack-{rack}. The metric is in one
// place of every template. The tree is strict: it takes the series that have all the tags, and of a
// path's elements each has its place. With {tags...} it is not read backwards.
type Template struct {
	text  string
	parts []templatePart
}

// A templatePart is one element.
type templatePart struct{ prefix, name, suffix string }

// What stands in braces for the metric, and for the tags that are left.
const (
	partMetric  = "metric"
	partMetrics = "metric..."
	partRest    = "tags..."
)

// The reasons to refuse a template.
var (
	errNoElement      = errors.New("an element is empty")
	errBraces         = errors.New("an element holds at most one pair of braces, both of them")
	errTagName        = errors.New("a tag's name is a letter or _, then letters, digits and _")
	errTagElements    = errors.New("only the metric may have several elements, as {metric...}, and the tags that are left, as {tags...}")
	errRestText       = errors.New("no text stands before or behind {tags...}: each tag is an element of its own")
	errTagReserved    = errors.New("no tag has this name: {metric} is the metric")
	errLiteral        = errors.New("text of a path holds no blank, no / and none of * ? [ ] ( ) ; ~ ,")
	errTemplateTwice  = errors.New("it stands there twice: each tag has one place")
	errTemplateMetric = errors.New("the metric stands there twice: it cannot be put together from several places. Cut it out as one piece, {metric...}, or write rules")
	errNoTemplateName = errors.New("{metric} or {metric...} is missing: every series has a metric")
	errOneElement     = errors.New("a single element: OpenTSDB keeps no leaves on the root. Names without a dot are found without a tree")
	errNeighbours     = errors.New("the same text twice in a row: OpenTSDB makes one branch of equal names that follow each other")
	errRootName       = errors.New("the first element is " + schema.RootName + ", which OpenTSDB leaves out of paths")
)

// ParseTemplate reads a template. Errors name the element, the first being 1.
func ParseTemplate(text string) (Template, error) {
	t := Template{text: text}
	seen := map[string]bool{}
	for n, element := range splitTemplate(text) {
		part, err := parsePart(element)
		if err == nil {
			err = part.again(seen)
		}
		if err != nil {
			return Template{}, fmt.Errorf("element %d, %q: %w", n+1, element, err)
		}
		t.parts = append(t.parts, part)
	}
	if err := t.check(); err != nil {
		return Template{}, err
	}
	return t, nil
}

// splitTemplate splits at the dots outside of braces.
func splitTemplate(text string) []string {
	var elements []string
	begin, within := 0, false
	for i, c := range text {
		switch {
		case c == '{':
			within = true
		case c == '}':
			within = false
		case c == '.' && !within:
			elements = append(elements, text[begin:i])
			begin = i + 1
		}
	}
	return append(elements, text[begin:])
}

func parsePart(element string) (templatePart, error) {
	if element == "" {
		return templatePart{}, errNoElement
	}
	p := templatePart{prefix: element}
	if before, rest, found := strings.Cut(element, "{"); found {
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return p, errBraces
		}
		p = templatePart{before, name, after}
		if err := checkPartName(name); err != nil {
			return p, err
		}
	}
	if strings.ContainsAny(p.prefix+p.suffix, "{}") {
		return p, errBraces
	}
	if p.name == partRest && p.prefix+p.suffix != "" {
		return p, errRestText
	}
	if strings.ContainsFunc(p.prefix+p.suffix, notInText) || !utf8.ValidString(element) {
		return p, errLiteral
	}
	return p, nil
}

func notInText(r rune) bool {
	return strings.ContainsRune("/*?[]();~,", r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

func checkPartName(name string) error {
	switch {
	case name == partMetric, name == partMetrics, name == partRest:
		return nil
	case name == "__name__" || name == "name":
		return errTagReserved
	case strings.HasSuffix(name, "..."):
		return errTagElements
	case name == "" || strings.ContainsFunc(name, notInName) || unicode.IsDigit(rune(name[0])):
		return errTagName
	}
	return nil
}

func notInName(r rune) bool {
	return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
}

// again refuses what was there before.
func (p templatePart) again(seen map[string]bool) error {
	name := p.name
	if name == partMetrics {
		name = partMetric
	}
	switch {
	case name != "" && seen[name] && name == partMetric:
		return errTemplateMetric
	case name != "" && seen[name]:
		return errTemplateTwice
	}
	seen[name] = true
	return nil
}

// check validates the template as a whole.
func (t Template) check() error {
	metric := false
	for n, p := range t.parts {
		metric = metric || p.metric()
		switch {
		case p.name != "":
		case n == 0 && p.prefix == schema.RootName:
			return errRootName
		case n > 0 && n < len(t.parts)-1 && t.parts[n-1] == p: // a leaf may have its branch's name
			return fmt.Errorf("elements %d and %d, %q: %w", n, n+1, p.prefix, errNeighbours)
		}
	}
	switch {
	case !metric:
		return errNoTemplateName
	case len(t.parts) == 1 && t.parts[0].name == partMetric:
		return errOneElement
	}
	return nil
}

func (p templatePart) metric() bool { return p.name == partMetric || p.name == partMetrics }

// Definition returns the tree of a template, enabled, which the table gives an id. It has an
// inverse.
func (t Template) Definition(name string) Definition {
	d := Definition{Tree: schema.Tree{Name: name, Description: t.text, StrictMatch: true, Enabled: true}}
	for level, p := range t.parts {
		d.Rules = append(d.Rules, p.rule(level))
	}
	return d
}

// rule returns the rule of an element. Text alone is a rule that takes every metric and shows it by
// a display format without a token, which OpenTSDB 2.4 TreeBuilder.setCurrentName then shows as it
// is.
func (p templatePart) rule(level int) schema.TreeRule {
	if p.name == partRest {
		return restRule(level)
	}
	r := schema.TreeRule{Type: ruleMetric, Level: level}
	switch {
	case p.name == "":
		r.DisplayFormat = p.prefix
		return r
	case p.name == partMetrics:
		r.Separator = `\.`
	case p.name != partMetric:
		r.Type, r.Field = ruleTagk, p.name
	}
	if p.prefix+p.suffix != "" {
		r.DisplayFormat = p.prefix + "{value}" + p.suffix
	}
	return r
}

package conf

import (
	"errors"
	"fmt"
	"strings"
)

// A section is a section of one of carbon's configuration files.
type section struct {
	name    string
	line    int // of its header, from 1
	options map[string]option
}

// An option is the value of a key and its line.
type option struct {
	value string
	line  int
}

// defaultSection is the section whose options all other sections inherit. It counts as a section
// itself, as in carbon.
const defaultSection = "DEFAULT"

// parseINI reads a file as Python 3's configparser does with its defaults, which carbon uses. name
// is for errors.
//
//   - Keys are in any case. The first = or : separates a key from its value.
//   - Comment lines begin with # or ;. There are no comments after a value.
//   - A line that is indented deeper than its key continues the value.
//   - %% is a percent sign, and %(key)s is the value of another key.
//
// It refuses what configparser refuses. It also refuses text after the bracket of a section, which
// carbon ignores silently.
func parseINI(name, text string) ([]section, error) {
	p := iniParser{file: name}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if err := p.take(i+1, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return p.sections, p.interpolate()
}

type iniParser struct {
	file     string
	sections []section
	key      string // of the option that a deeper line continues, empty without one
	indent   int    // of that option
}

func (p *iniParser) take(number int, line string) error {
	text := strings.TrimSpace(line)
	switch indent := strings.Index(line, text); {
	case text == "" && p.key != "":
		p.extend("")
	case text == "", text[0] == '#', text[0] == ';':
	case p.key != "" && indent > p.indent:
		p.extend(text)
	case text[0] == '[' && strings.LastIndexByte(text, ']') > 1:
		p.indent = indent
		return p.open(number, text)
	default:
		p.indent = indent
		return p.set(number, text)
	}
	return nil
}

func (p *iniParser) current() map[string]option { return p.sections[len(p.sections)-1].options }

// extend continues a value.
func (p *iniParser) extend(text string) {
	o := p.current()[p.key]
	o.value += "\n" + text
	p.current()[p.key] = o
}

func (p *iniParser) open(number int, text string) error {
	end := strings.LastIndexByte(text, ']')
	if end != len(text)-1 {
		return fmt.Errorf("text after the section [%s]", text[1:end])
	}
	name := text[1:end]
	for _, s := range p.sections {
		if s.name == name {
			return fmt.Errorf("section [%s] stands in line %d already", name, s.line)
		}
	}
	p.sections = append(p.sections, section{name: name, line: number, options: map[string]option{}})
	p.key = ""
	return nil
}

func (p *iniParser) set(number int, text string) error {
	if len(p.sections) == 0 {
		return fmt.Errorf("%.100q stands before the first section", text)
	}
	at := strings.IndexAny(text, "=:")
	if at <= 0 {
		return fmt.Errorf("%.100q is no section, no key = value and no comment", text)
	}
	key := strings.ToLower(strings.TrimSpace(text[:at]))
	if have, ok := p.current()[key]; ok {
		return fmt.Errorf("%s stands in line %d already", key, have.line)
	}
	p.current()[key] = option{value: strings.TrimSpace(text[at+1:]), line: number}
	p.key = key
	return nil
}

// interpolate completes the sections: defaults, then references.
func (p *iniParser) interpolate() error {
	var defaults map[string]option
	for _, s := range p.sections {
		if s.name == defaultSection {
			defaults = s.options
		}
	}
	for i, s := range p.sections {
		all := map[string]option{}
		for _, options := range []map[string]option{defaults, s.options} {
			for key, o := range options {
				o.value = strings.TrimRight(o.value, " \t\n\r\v\f")
				all[key] = o
			}
		}
		whole := make(map[string]option, len(all))
		for key, o := range all {
			value, err := expand(o.value, all, 0)
			if err != nil {
				return fmt.Errorf("%s:%d: [%s] %s: %w", p.file, o.line, s.name, key, err)
			}
			whole[key] = option{value, o.line}
		}
		p.sections[i].options = whole
	}
	return nil
}

// Bounds of references within references: configparser's own depth, and a length against values
// that double each time.
const (
	maxDepth = 10
	maxValue = 1 << 20
)

// expand replaces the references of a value, as configparser.BasicInterpolation does.
func expand(value string, options map[string]option, depth int) (string, error) {
	if depth > maxDepth {
		return "", errors.New("references refer to each other")
	}
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(value, "%")
		b.WriteString(text)
		if b.Len() > maxValue {
			return "", errors.New("value is too long")
		}
		if !found {
			return b.String(), nil
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			b.WriteByte('%')
			value = after
			continue
		}
		key, after, ok := strings.Cut(strings.TrimPrefix(rest, "("), ")s")
		if !ok || rest[0] != '(' || strings.Contains(key, ")") {
			return "", errors.New("a percent sign is written %%")
		}
		o, ok := options[strings.ToLower(key)]
		if !ok {
			return "", fmt.Errorf("there is no %s to refer to", key)
		}
		inner, err := expand(o.value, options, depth+1)
		if err != nil {
			return "", err
		}
		b.WriteString(inner)
		value = after
	}
}

package graphite

import (
	"errors"
	"fmt"
	"strings"
)

// A confSection is a section of one of carbon's configuration files.
type confSection struct {
	name    string
	line    int // of its header, from 1
	options map[string]confOption
}

// A confOption is the value of a key and where it stands.
type confOption struct {
	value string
	line  int
}

// defaultSection is the section whose options all others have too. It counts as a section itself: carbon lists it with them.
const defaultSection = "DEFAULT"

// parseConf reads a file as Python 3's configparser does, which carbon uses with its defaults: keys in any case, separated from their values by
// the first = or :, comment lines that begin with # or ;, none behind a value, lines that are indented deeper than their key
// continue its value, %% is a percent sign and %(key)s the value of another key. What configparser refuses is refused, and
// a section whose line has text behind the bracket too, which carbon would pass over without a word. name is for errors.
func parseConf(name, text string) ([]confSection, error) {
	p := confParser{file: name}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if err := p.take(i+1, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return p.sections, p.interpolate()
}

type confParser struct {
	file     string
	sections []confSection
	key      string // of the option that a deeper line continues; empty: none
	indent   int    // of that option
}

func (p *confParser) take(number int, line string) error {
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

func (p *confParser) current() map[string]confOption { return p.sections[len(p.sections)-1].options }

// extend continues a value.
func (p *confParser) extend(text string) {
	o := p.current()[p.key]
	o.value += "\n" + text
	p.current()[p.key] = o
}

func (p *confParser) open(number int, text string) error {
	end := strings.LastIndexByte(text, ']')
	if end != len(text)-1 {
		return fmt.Errorf("text behind the section [%s]", text[1:end])
	}
	name := text[1:end]
	for _, s := range p.sections {
		if s.name == name {
			return fmt.Errorf("section [%s] stands in line %d already", name, s.line)
		}
	}
	p.sections = append(p.sections, confSection{name: name, line: number, options: map[string]confOption{}})
	p.key = ""
	return nil
}

func (p *confParser) set(number int, text string) error {
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
	p.current()[key] = confOption{value: strings.TrimSpace(text[at+1:]), line: number}
	p.key = key
	return nil
}

// interpolate completes the sections: defaults, then references.
func (p *confParser) interpolate() error {
	var defaults map[string]confOption
	for _, s := range p.sections {
		if s.name == defaultSection {
			defaults = s.options
		}
	}
	for i, s := range p.sections {
		all := map[string]confOption{}
		for _, options := range []map[string]confOption{defaults, s.options} {
			for key, o := range options {
				o.value = strings.TrimRight(o.value, " \t\n\r\v\f")
				all[key] = o
			}
		}
		whole := make(map[string]confOption, len(all))
		for key, o := range all {
			value, err := expandConf(o.value, all, 0)
			if err != nil {
				return fmt.Errorf("%s:%d: [%s] %s: %w", p.file, o.line, s.name, key, err)
			}
			whole[key] = confOption{value, o.line}
		}
		p.sections[i].options = whole
	}
	return nil
}

// The bounds of references within references: configparser's own, and one against values that double each time.
const (
	maxConfDepth = 10
	maxConfValue = 1 << 20
)

// expandConf replaces the references of a value, as configparser.BasicInterpolation does.
func expandConf(value string, options map[string]confOption, depth int) (string, error) {
	if depth > maxConfDepth {
		return "", errors.New("references refer to each other")
	}
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(value, "%")
		b.WriteString(text)
		if b.Len() > maxConfValue {
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
		inner, err := expandConf(o.value, options, depth+1)
		if err != nil {
			return "", err
		}
		b.WriteString(inner)
		value = after
	}
}

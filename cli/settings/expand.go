package settings

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// maxSecret bounds the file of a secret, in bytes.
const maxSecret = 64 << 10

// An expander replaces, in the values of a configuration file:
//
//	${NAME}            the environment variable; it is an error if it is not set
//	${NAME:-default}   the same, or the default if it is not set or empty
//	${file:/path}      the content of a file without the line break at its end; it is a secret
//	$$                 a dollar sign
//	$NAME              in external_labels, where Prometheus expands it: as ${NAME}
//
// Another dollar sign stays: regular expressions have them. What is put in is not expanded again, and
// cannot add keys: values are expanded after the YAML was read.
type expander struct {
	environment map[string]string
	secrets     map[*yaml.Node]bool // the values with the content of a file
	errs        []error
}

// nodes expands all values below a node; bare: those with $NAME too.
func (e *expander) nodes(node *yaml.Node, bare bool) {
	switch node.Kind {
	case yaml.ScalarNode:
		e.scalar(node, bare)
	case yaml.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			e.nodes(node.Content[i], bare || node.Content[i-1].Value == config.ExternalLabels)
		}
	default:
		for _, below := range node.Content {
			e.nodes(below, bare)
		}
	}
}

func (e *expander) scalar(node *yaml.Node, bare bool) {
	text, secret, err := e.text(node.Value, bare)
	switch {
	case err != nil:
		e.errs = append(e.errs, fmt.Errorf("line %d: %w", node.Line, err))
		return
	case text == node.Value:
		return
	}
	node.Value, node.Tag, node.Style = text, "", 0 // "${UDP}" may have become a boolean
	if secret {
		e.secrets[node] = true
	}
}

// text expands a value, with $NAME if bare, and reports whether it has the content of a file.
func (e *expander) text(value string, bare bool) (expanded string, secret bool, err error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(value, "$")
		b.WriteString(before)
		if !found {
			return b.String(), secret, nil
		}
		if value = rest; strings.HasPrefix(rest, "$") {
			b.WriteByte('$')
			value = rest[1:]
			continue
		}
		name, after, closed := "", rest, true
		switch {
		case strings.HasPrefix(rest, "{"):
			name, after, closed = strings.Cut(rest[1:], "}")
		case bare:
			name, after = leadingVariable(rest)
		}
		if name == "" && after == rest {
			b.WriteByte('$')
			continue
		}
		if !closed {
			return "", false, fmt.Errorf("${%s has no closing brace; a dollar sign before a brace is written $$", name)
		}
		put, isFile, err := e.reference(name)
		if err != nil {
			return "", false, err
		}
		b.WriteString(put)
		value, secret = after, secret || isFile
	}
}

// reference returns what stands for ${name}.
func (e *expander) reference(name string) (text string, isFile bool, err error) {
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		text, err = readSecret(path)
		return text, true, err
	}
	name, otherwise, hasDefault := strings.Cut(name, ":-")
	if !isVariable(name) {
		return "", false, fmt.Errorf("${%s}: want ${NAME}, ${NAME:-default} or ${file:PATH}; a dollar sign before a brace is written $$", name)
	}
	text, ok := e.environment[name]
	switch {
	case hasDefault && text == "":
		return otherwise, false, nil
	case !ok:
		return "", false, fmt.Errorf("the environment variable %s is not set (${%s:-default} has a default)", name, name)
	}
	return text, false, nil
}

// leadingVariable cuts a text after the name of an environment variable that it begins with; empty: it begins with none.
func leadingVariable(text string) (name, after string) {
	end := 0
	for end < len(text) && isVariable(text[:end+1]) {
		end++
	}
	return text[:end], text[end:]
}

// isVariable reports whether a text is the name of an environment variable.
func isVariable(name string) bool {
	for i, c := range name {
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return name != ""
}

// readSecret returns the content of a file without the line break at its end.
func readSecret(path string) (string, error) {
	text, err := fsutil.ReadRegularUpTo(path, maxSecret)
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return "", errors.New(path + " is empty")
	}
	return value, nil
}

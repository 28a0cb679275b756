package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/config"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// Prometheus is what the configuration file has of a Prometheus' configuration.
type Prometheus struct {
	config.Config

	texts map[string]string // of the keys
}

// ExternalLabels is the key of labels below "global".
const ExternalLabels = "external_labels"

// promKeys are the keys of a Prometheus' configuration that are read. Those with a list have no other
// keys below them.
func promKeys() map[string][]string {
	return map[string][]string{
		"alerting":     {"alert_relabel_configs", "alertmanagers"},
		"global":       {"evaluation_interval", ExternalLabels, "rule_query_offset"},
		"remote_write": nil,
		"otlp": {
			"convert_histograms_to_nhcb", "ignore_resource_attributes", "keep_identifying_resource_attributes", "label_name_preserve_multiple_underscores",
			"label_name_underscore_sanitization", "promote_all_resource_attributes", "promote_resource_attributes", "promote_scope_metadata", "translation_strategy",
		},
		"rule_files": nil,
	}
}

// PrometheusKeys returns the keys of a Prometheus' configuration that the configuration file may have.
func PrometheusKeys() []string { return slices.Sorted(maps.Keys(promKeys())) }

// IsPrometheusKey reports whether a key of the configuration file is one of a Prometheus' configuration.
func IsPrometheusKey(key string) bool {
	_, ok := promKeys()[key]
	return ok
}

// ParsePrometheus reads the keys of a Prometheus' configuration: nodes of keys and values in turn, as the
// Prometheus module reads them. Paths are relative to a directory. Errors begin with their lines.
func ParsePrometheus(pairs []*yaml.Node, dir string) (*Prometheus, error) {
	if len(pairs) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := checkPromKeys(pairs); err != nil {
		return nil, err
	}
	c := &Prometheus{texts: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		text, err := yaml.Marshal(pairs[i+1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", pairs[i].Line, pairs[i].Value, err)
		}
		c.texts[pairs[i].Value] = string(text)
	}
	read, err := loadProm(pairs, pairs[0].Line)
	if err != nil {
		return nil, cmp.Or(eachPromError(pairs), err)
	}
	read.SetDirectory(dir)
	c.Config = *read
	return c, c.checkClientFiles()
}

// loadProm reads keys by Prometheus' code. An error without a line is about the given one.
func loadProm(pairs []*yaml.Node, line int) (*config.Config, error) {
	top := &yaml.Node{Kind: yaml.MappingNode, Content: literalLabels(pairs, false)}
	text, err := rules.Encode(top)
	if err != nil {
		return nil, err
	}
	read, err := config.Load(string(text), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, linesAsWritten(err, top, line, text)
	}
	return read, nil
}

// literalLabels returns the same keys and values, but that the values of external labels have their dollar signs twice:
// environment variables are in them already, and Prometheus' code puts such in too.
func literalLabels(pairs []*yaml.Node, labels bool) []*yaml.Node {
	same := slices.Clone(pairs)
	for i := 0; i+1 < len(same); i += 2 {
		key, value := same[i].Value, *same[i+1]
		if value.Kind == yaml.AliasNode {
			value = *value.Alias
		}
		switch {
		case labels && value.Kind == yaml.ScalarNode:
			value.Value = strings.ReplaceAll(value.Value, "$", "$$")
		case !labels && value.Kind == yaml.MappingNode && (key == "global" || key == ExternalLabels):
			value.Content = literalLabels(value.Content, key == ExternalLabels)
		}
		same[i+1] = &value
	}
	return same
}

// eachPromError reads each key by itself, and each item of a list, because Prometheus' code tells one error, often without
// its place. The errors name the key.
func eachPromError(pairs []*yaml.Node) error {
	var errs []error
	for i := 0; i+1 < len(pairs); i += 2 {
		key, parts := pairs[i], []*yaml.Node{pairs[i+1]}
		if key.Value == "remote_write" && parts[0].Kind == yaml.SequenceNode {
			parts = itemsOf(parts[0])
		}
		for _, part := range parts {
			if _, err := loadProm([]*yaml.Node{key, part}, max(key.Line, part.Line)); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// itemsOf returns a list for each item of a list.
func itemsOf(list *yaml.Node) (all []*yaml.Node) {
	for _, item := range list.Content {
		all = append(all, &yaml.Node{Kind: yaml.SequenceNode, Line: item.Line, Content: []*yaml.Node{item}})
	}
	return all
}

// checkPromKeys refuses keys that would have no effect.
func checkPromKeys(pairs []*yaml.Node) error {
	var errs []error
	for i := 0; i < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		known := promKeys()[key.Value]
		if known == nil || value.Kind != yaml.MappingNode {
			continue
		}
		for j := 0; j < len(value.Content); j += 2 {
			if below := value.Content[j]; !slices.Contains(known, below.Value) {
				errs = append(errs, fmt.Errorf("line %d: %s has no key %q here: want %s", below.Line, key.Value, below.Value, strings.Join(known, ", ")))
			}
		}
	}
	return errors.Join(errs...)
}

// linesAsWritten replaces the lines in an error about an encoded text by those of its nodes in their
// file, and names the key. An error without a line gets the given one.
func linesAsWritten(err error, top *yaml.Node, line int, encoded []byte) error {
	written := rules.Lines(encoded, top)
	var errs []error
	for _, m := range regexp.MustCompile(`(?m)line (\d+): (.*)$`).FindAllStringSubmatch(err.Error(), -1) {
		number, _ := strconv.Atoi(m[1])
		at := written(number)
		name, text := keyAt(top, at), m[2]
		if unknown := regexp.MustCompile(`^field (\S+) not found in type \S+$`).FindStringSubmatch(text); unknown != nil {
			name, _, _ = strings.Cut(name, "."+unknown[1])
			text = fmt.Sprintf("there is no key %q here", unknown[1])
		}
		errs = append(errs, fmt.Errorf("line %d: %s: %s", at, name, text))
	}
	if len(errs) == 0 {
		return fmt.Errorf("line %d: %s: %w", line, top.Content[0].Value, err)
	}
	return errors.Join(errs...)
}

// keyAt returns the keys that lead to the last value which begins at a line or before it.
func keyAt(node *yaml.Node, line int) string {
	name := ""
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; name == "" || key.Line <= line {
				name = strings.TrimSuffix(key.Value+"."+keyAt(node.Content[i+1], line), ".")
			}
		}
		if len(node.Content) > 0 && node.Content[0].Line > line {
			return ""
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Line <= line {
				name = keyAt(item, line)
			}
		}
	default:
	}
	return name
}

// Changed returns the keys whose texts differ.
func (c *Prometheus) Changed(other *Prometheus) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(promKeys())) {
		if c.text(key) != other.text(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *Prometheus) text(key string) string {
	if c == nil {
		return ""
	}
	return c.texts[key]
}

// Shown returns the keys of a Prometheus' configuration that are set, and their values as the Prometheus module
// shows them: with its defaults and without secrets.
func (c *Prometheus) Shown() ([]*yaml.Node, error) {
	if c == nil {
		return nil, nil
	}
	text, err := yaml.Marshal(&c.Config)
	if err != nil {
		return nil, err
	}
	var all yaml.Node
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	var shown []*yaml.Node
	for i, pairs := 0, all.Content[0].Content; i < len(pairs); i += 2 {
		if key, value := pairs[i], pairs[i+1]; c.texts[key.Value] != "" {
			keepKeys(value, promKeys()[key.Value])
			shown = append(shown, key, value)
		}
	}
	return shown, nil
}

// keepKeys leaves only some keys of a mapping; nil: all of what it is.
func keepKeys(node *yaml.Node, keys []string) {
	if keys == nil || node.Kind != yaml.MappingNode {
		return
	}
	var kept []*yaml.Node
	for i := 0; i < len(node.Content); i += 2 {
		if slices.Contains(keys, node.Content[i].Value) {
			kept = append(kept, node.Content[i], node.Content[i+1])
		}
	}
	node.Content = kept
}

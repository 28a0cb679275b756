package adapter

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/config"
	"gopkg.in/yaml.v3"

	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// PromConfig is what the configuration file has of a Prometheus' configuration.
type PromConfig struct {
	config.Config

	texts map[string]string // of the keys
}

// promKeys are the keys of a Prometheus' configuration that are read. Those with a list have no other
// keys below them.
func promKeys() map[string][]string {
	return map[string][]string{
		"alerting":     {"alert_relabel_configs", "alertmanagers"},
		"global":       {"evaluation_interval", "external_labels", "rule_query_offset"},
		"remote_write": nil,
		"otlp": {
			"convert_histograms_to_nhcb", "ignore_resource_attributes", "keep_identifying_resource_attributes", "label_name_preserve_multiple_underscores",
			"label_name_underscore_sanitization", "promote_all_resource_attributes", "promote_resource_attributes", "promote_scope_metadata", "translation_strategy",
		},
		"rule_files": nil,
	}
}

// PromKeys returns the keys of a Prometheus' configuration that the configuration file may have.
func PromKeys() []string { return slices.Sorted(maps.Keys(promKeys())) }

// IsPromKey reports whether a key of the configuration file is one of a Prometheus' configuration.
func IsPromKey(key string) bool {
	_, ok := promKeys()[key]
	return ok
}

// ParsePromConfig reads the keys of a Prometheus' configuration: nodes of keys and values in turn, as the
// Prometheus module reads them. Paths are relative to a directory. Errors begin with their lines.
func ParsePromConfig(pairs []*yaml.Node, dir string) (*PromConfig, error) {
	if len(pairs) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := checkPromKeys(pairs); err != nil {
		return nil, err
	}
	c := &PromConfig{texts: map[string]string{}}
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
	return c, nil
}

// loadProm reads keys by Prometheus' code. An error without a line is about the given one.
func loadProm(pairs []*yaml.Node, line int) (*config.Config, error) {
	top := &yaml.Node{Kind: yaml.MappingNode, Content: pairs}
	var text bytes.Buffer
	if err := yaml.NewEncoder(&text).Encode(top); err != nil {
		return nil, err
	}
	read, err := config.Load(text.String(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, linesAsWritten(err, top, line, text.Bytes())
	}
	return read, nil
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

// changed returns the keys whose texts differ.
func (c *PromConfig) changed(other *PromConfig) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(promKeys())) {
		if c.text(key) != other.text(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *PromConfig) text(key string) string {
	if c == nil {
		return ""
	}
	return c.texts[key]
}

// ruleSet loads the rule files.
func (o Options) ruleSet() (*rules.Set, error) {
	p := o.prometheusOptions().Query.Parser()
	if o.PromConfig == nil {
		return rules.Load(rules.Config{}, p, o.ruleChecks())
	}
	g := o.PromConfig.GlobalConfig
	return rules.Load(rules.Config{
		Files: o.PromConfig.RuleFiles, Interval: time.Duration(g.EvaluationInterval), QueryOffset: time.Duration(g.RuleQueryOffset),
		ExternalLabels: g.ExternalLabels, Alerting: o.PromConfig.AlertingConfig,
	}, p, o.ruleChecks())
}

// alertURL returns where users find this server: --web.external-url, or the host and the port. It
// ends without a slash, as templates written for Prometheus expect.
func (o Options) alertURL() (*url.URL, error) {
	if o.ExternalURL != "" {
		u, err := url.Parse(o.ExternalURL)
		if err != nil {
			return nil, fmt.Errorf("--web.external-url: %w", err)
		}
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
		return u, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	_, port, err := net.SplitHostPort(o.ListenAddress)
	if err != nil {
		return &url.URL{Scheme: "http", Host: host}, nil //nolint:nilerr // the listener reports it
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}, nil
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// schemaNode is a JSON schema, or a part of one.
type schemaNode = map[string]any

// configSchema returns the JSON schema of the configuration file, for editors. It knows each key flat
// and nested at the dots.
func configSchema() ([]byte, error) {
	p := newParser(io.Discard)
	definitions := schemaNode{"expanded": schemaNode{"type": "string", "pattern": `\$\{.*\}`}}
	var names []string
	for _, f := range p.app.Model().Flags {
		if !settings.IsSetting(f) {
			continue
		}
		names = append(names, f.Name)
		definitions[f.Name] = flagSchema(f, settings.Cumulative(p.app.GetFlag(f.Name)))
	}
	root := schemaBelow("", names)
	for key, list := range config.ListKeys() {
		root["properties"].(schemaNode)[key] = listSchema(list)
	}
	for key, schema := range promSchemas() {
		root["properties"].(schemaNode)[key] = schema
	}
	root["$schema"], root["$defs"] = "http://json-schema.org/draft-07/schema#", definitions
	root["title"] = "Configuration of tsdbridge (--config.file)"
	text, err := json.MarshalIndent(root, "", " ")
	return append(text, '\n'), err
}

// promSchemas are the schemas of the keys of a Prometheus' configuration. What the Prometheus module
// checks alone is any value here.
func promSchemas() map[string]schemaNode {
	duration := schemaNode{"type": "string", "pattern": `^([0-9]+(ms|[smhdwy]))+$|^0$`}
	scalar := schemaNode{"type": []string{"string", "number", "boolean"}}
	strs, boolean := schemaNode{"type": []string{"array", "null"}, "items": schemaNode{"type": "string"}}, schemaNode{"type": "boolean"}
	return map[string]schemaNode{
		"global": {"type": []string{"object", "null"}, "additionalProperties": false, "description": "What holds for all rules; docs/rules.md", "properties": schemaNode{
			"evaluation_interval": duration, "rule_query_offset": duration,
			"external_labels": schemaNode{"type": []string{"object", "null"}, "additionalProperties": scalar},
		}},
		"alerting": {"type": []string{"object", "null"}, "additionalProperties": false, "description": "Alertmanagers that get alerts; docs/rules.md", "properties": schemaNode{
			"alert_relabel_configs": schemaNode{"type": []string{"array", "null"}, "items": schemaNode{"type": "object"}},
			"alertmanagers":         schemaNode{"type": []string{"array", "null"}, "items": schemaNode{"type": "object"}},
		}},
		"otlp": {"type": []string{"object", "null"}, "additionalProperties": false, "description": "How series of OTLP are named, as in Prometheus; docs/otlp.md", "properties": schemaNode{
			"translation_strategy":        schemaNode{"enum": []string{"UnderscoreEscapingWithSuffixes", "UnderscoreEscapingWithoutSuffixes", "NoUTF8EscapingWithSuffixes", "NoTranslation"}},
			"promote_resource_attributes": strs, "ignore_resource_attributes": strs, "promote_all_resource_attributes": boolean,
			"keep_identifying_resource_attributes": boolean, "convert_histograms_to_nhcb": boolean, "promote_scope_metadata": boolean,
			"label_name_underscore_sanitization": boolean, "label_name_preserve_multiple_underscores": boolean,
		}},
		"remote_write": {"type": []string{"array", "null"}, "description": "Servers that everything which is stored is sent on to, as in Prometheus; docs/forwarding.md", "items": schemaNode{
			"type": "object", "required": []string{"url"}, "properties": schemaNode{"url": schemaNode{"type": "string"}, "name": schemaNode{"type": "string"}},
		}},
		"rule_files": {"type": []string{"array", "null"}, "items": schemaNode{"type": "string"}, "description": "Rule files of Prometheus, or patterns of their paths, relative to the configuration file; docs/rules.md"},
	}
}

// schemaBelow is the schema of the keys below a prefix. Of a.b.c there are the keys a.b.c, a (with b.c or
// b), and a.b (with c).
func schemaBelow(prefix string, names []string) schemaNode {
	properties := schemaNode{}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		properties[rest] = schemaNode{"$ref": "#/$defs/" + name}
		for i, c := range rest {
			if c == '.' && properties[rest[:i]] == nil {
				properties[rest[:i]] = schemaBelow(prefix+rest[:i+1], names)
			}
		}
	}
	return schemaNode{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
}

// flagSchema is the schema of the value of a flag. Any value may be an environment variable.
func flagSchema(f *kingpin.FlagModel, list bool) schemaNode {
	one := schemaNode{"type": []string{"string", "number", "boolean", "null"}}
	expanded := schemaNode{"$ref": "#/$defs/expanded"}
	switch value := fmt.Sprintf("%T", f.Value); {
	case f.IsBoolFlag():
		one = schemaNode{"anyOf": []schemaNode{{"type": "boolean"}, expanded}}
	case value == "*kingpin.enumValue":
		one = schemaNode{"anyOf": []schemaNode{{"enum": enumOf(f)}, expanded}}
	case value == "*kingpin.intValue":
		one = schemaNode{"anyOf": []schemaNode{{"type": "integer"}, expanded}}
	case value == "*kingpin.float64Value":
		one = schemaNode{"anyOf": []schemaNode{{"type": "number"}, expanded}}
	case value == "*kingpin.durationValue":
		one = schemaNode{"anyOf": []schemaNode{{"type": "string", "pattern": `^-?([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$`}, {"const": 0}, expanded}}
	case value == "*flagvalue.Size", value == "*flagvalue.IntSize":
		one = schemaNode{"anyOf": []schemaNode{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^[0-9]+([KMG]i?B|B)?$`}, expanded}}
	case value == "*flagvalue.Age":
		one = schemaNode{"anyOf": []schemaNode{{"type": "string", "pattern": `^([0-9]+(ms|[smhdwy]))+$|^0$`}, {"const": 0}, expanded}}
	}
	if list {
		one = schemaNode{"anyOf": []schemaNode{one, {"type": "array", "items": schemaNode{"type": []string{"string", "number"}}}}}
	}
	one["description"] = f.Help
	if len(f.Default) > 0 && f.Default[0] != "" {
		one["default"] = f.Default[0]
	}
	return one
}

// enumOf returns the values that an enumeration takes, which only its error tells.
func enumOf(f *kingpin.FlagModel) []string {
	before := f.Value.String()
	err := f.Value.Set("\x00")
	_, rest, _ := strings.Cut(err.Error(), "must be one of ")
	list, _, _ := strings.Cut(rest, ", got")
	_ = f.Value.Set(before)
	return strings.Split(list, ",")
}

// listSchema is the schema of a list of mappings with some keys.
func listSchema(list config.List) schemaNode {
	properties := schemaNode{}
	for _, key := range list.Keys {
		properties[key] = schemaNode{"type": []string{"string", "number", "boolean"}}
	}
	for key, below := range list.Lists {
		properties[key] = schemaNode{"type": "array"}
		if len(below.Keys) > 0 {
			properties[key] = listSchema(below)
		}
	}
	item := schemaNode{"type": "object", "additionalProperties": false, "properties": properties}
	if required := slices.Clone(list.Required); len(required) > 0 {
		item["required"] = required
	}
	return schemaNode{"type": "array", "items": item, "description": list.About}
}

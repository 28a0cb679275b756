package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// schemaFile is made from the code: go test ./cli -run ConfigSchema -rewrite.
const schemaFile = "docs/config.schema.json"

func TestConfigSchema(t *testing.T) {
	t.Chdir(root)
	want, err := configSchema()
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs from the code; go test ./cli -run ConfigSchema -rewrite (-code +file):\n%s", schemaFile, diff)
	}
}

// TestConfigSchemaAgrees compares what the schema and the program say of files.
func TestConfigSchemaAgrees(t *testing.T) {
	schema := compiledSchema(t)
	for text, good := range map[string]bool{
		"":                                           true,
		"storage: {engine: memory}":                  true,
		"storage.engine: memory":                     true,
		"storage: {table.data: a}":                   true,
		"storage.table: {data: a}":                   true,
		"storage: {table: {data: a}}":                true,
		"storage.engin: memory":                      false,
		"storage.engine: cassandra":                  false,
		"storage: {engine: {a: b}}":                  false,
		"carbon.udp: false":                          true,
		"carbon.udp: perhaps":                        false,
		"carbon.udp: '${UDP:-true}'":                 true,
		"query.max-series: many":                     false,
		"query.max-series: 5":                        true,
		"query.timeout: 90s":                         true,
		"query.timeout: 1h30m":                       true,
		"query.timeout: soon":                        false,
		"storage.retention: 90d":                     true,
		"storage.retention: 90":                      false,
		"write.max-body-bytes: 4MiB":                 true,
		"write.max-body-bytes: 4194304":              true,
		"write.max-body-bytes: 4 MiB":                false,
		"graphite.template: 'a.{metric}'":            true,
		"graphite.template: ['a.{metric}']":          true,
		"log.level: [a]":                             false,
		"config.file: a":                             false,
		"retention: [{matcher: up, age: 30d}]":       true,
		"retention: [{matcher: up}]":                 false,
		"retention: [{matcher: up, age: 30d, x: 1}]": false,
		"trees: [{name: a, path: 'a.{metric}'}]":     true,
		"trees: [{name: a, rules: [{type: METRIC, separator: '\\.'}]}]": true,
		"trees: [{name: a, rules: [{tpye: METRIC}]}]":                   false,
		"trees: {a: b}": false,
	} {
		file := filepath.Join(t.TempDir(), "c.yml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := parseCommandIn(settings.Source{}, []string{"--config.file=" + file}, io.Discard, io.Discard)
		if (err == nil) != good {
			t.Errorf("%s: the program says: %v", text, err)
		}
		if err := schema.Validate(jsonOf(t, text)); (err == nil) != good {
			t.Errorf("%s: the schema says: %v", text, err)
		}
	}
}

// The example is valid as it is, and with all that is commented out.
func TestExample(t *testing.T) {
	t.Chdir(root)
	schema := compiledSchema(t)
	example, err := os.ReadFile("deploy/tsdbridge.yml")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^#([a-z][a-z._-]*:|  - |  [a-z_]+:)`).ReplaceAllString(string(example), "$1")
	if strings.Count(all, "\n#") > strings.Count(string(example), "\n#")-35 {
		t.Fatalf("the settings of the example were not found:\n%s", all)
	}
	for name, text := range map[string]string{"as it is": string(example), "all": all} {
		if err := schema.Validate(jsonOf(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		set, err := newParser(io.Discard).server.ParseFile([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, s := range set {
			if s.Value != "" && strings.Contains(text, "\n#"+s.Name) {
				t.Errorf("%s: %s is commented out and set", name, s.Name)
			}
		}
	}
	var out, errs bytes.Buffer
	if err := checkConfig("deploy/tsdbridge.yml", nil, command.Console{Out: &out, Err: &errs}); err != nil {
		t.Errorf("check config: %v, %s", err, errs.String())
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := configSchema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// jsonOf converts YAML to what the schema is applied to.
func jsonOf(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

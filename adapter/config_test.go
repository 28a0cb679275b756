package adapter

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// parsed reads a value of the configuration file.
func parsed[T any](t *testing.T, parse func(*yaml.Node) (T, error), text string) (T, error) {
	t.Helper()
	var top yaml.Node
	if err := yaml.Unmarshal([]byte(text), &top); err != nil {
		t.Fatal(err)
	}
	return parse(top.Content[0])
}

const fillTestTables = `{"aggregationIds":{"sum":0,"count":1,"min":2,"max":3},"intervals":[
	{"table":"tsdb","preAggregationTable":"p","interval":"1m","rowSpan":"1h","defaultInterval":true},
	{"table":"a","preAggregationTable":"p","interval":"10m","rowSpan":"6h"},
	{"table":"b","preAggregationTable":"p","interval":"1h","rowSpan":"1d"},
	{"table":"c","preAggregationTable":"p","interval":"1d","rowSpan":"1n"},
	{"table":"d","preAggregationTable":"p","interval":"7m","rowSpan":"2h"},
	{"table":"shared","preAggregationTable":"p","interval":"2h","rowSpan":"1d"},
	{"table":"shared","preAggregationTable":"p","interval":"4h","rowSpan":"1n"}]}`

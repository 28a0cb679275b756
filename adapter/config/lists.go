// Package config reads the keys of the configuration file that are no flags: trees, rules of retention and rollups, and those of a
// Prometheus' configuration. It opens no file that they name.
package config

import (
	"maps"
	"slices"
)

// Lists are the keys of the configuration file that are no flags.
type Lists struct {
	Trees     []Tree      // trees
	Retention []Retention // retention
	Fill      []Fill      // rollups
	Prom      *Prometheus // keys of a Prometheus' configuration
}

// A List describes a list of mappings in the configuration file.
type List struct {
	About    string
	Keys     []string        // with plain values
	Required []string        // of Keys
	Lists    map[string]List // keys with lists; one without keys is of plain values
}

// ListKeys returns the lists of the configuration file, from the code that reads them.
func ListKeys() map[string]List {
	rules := List{About: "Rules, level by level.", Keys: keysOf((&ruleReader{}).fields())}
	trees := List{About: "Trees in which names are found; docs/trees.md", Required: []string{"name"}, Lists: map[string]List{"rules": rules}}
	trees.Keys = without(keysOf((&treeReader{}).fields()), "rules")
	retention := List{About: "How long points of which series are kept; docs/maintenance.md", Keys: keysOf((&retentionReader{}).fields())}
	retention.Required = retention.Keys
	fill := List{About: "Rollup tables that are filled from points; docs/rollups.md", Lists: map[string]List{"intervals": {About: "Of --storage.rollups."}}}
	fill.Keys = without(keysOf((&fillReader{}).fields()), "intervals")
	return map[string]List{"trees": trees, "retention": retention, "rollups": fill}
}

func keysOf(fields yamlFields) []string { return slices.Sorted(maps.Keys(fields)) }

func without(keys []string, key string) []string {
	return slices.DeleteFunc(keys, func(k string) bool { return k == key })
}

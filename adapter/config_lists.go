package adapter

import (
	"maps"
	"slices"
)

// ConfigLists are the keys of the configuration file that are no flags.
type ConfigLists struct {
	Trees     []TreeConfig      // trees
	Retention []RetentionConfig // retention
	Fill      []FillConfig      // rollups
	Prom      *PromConfig       // keys of a Prometheus' configuration
}

// Hidden is shown instead of the value of a secret.
const Hidden = "<secret>"

// A ConfigList describes a list of mappings in the configuration file.
type ConfigList struct {
	About    string
	Keys     []string              // with plain values
	Required []string              // of Keys
	Lists    map[string]ConfigList // keys with lists; one without keys is of plain values
}

// ConfigListKeys returns the lists of the configuration file, from the code that reads them.
func ConfigListKeys() map[string]ConfigList {
	rules := ConfigList{About: "Rules, level by level.", Keys: keysOf((&ruleReader{}).fields())}
	trees := ConfigList{About: "Trees in which names are found; docs/trees.md", Required: []string{"name"}, Lists: map[string]ConfigList{"rules": rules}}
	trees.Keys = without(keysOf((&treeReader{}).fields()), "rules")
	retention := ConfigList{About: "How long points of which series are kept; docs/maintenance.md", Keys: keysOf((&retentionReader{}).fields())}
	retention.Required = retention.Keys
	fill := ConfigList{About: "Rollup tables that are filled from points; docs/rollups.md", Lists: map[string]ConfigList{"intervals": {About: "Of --storage.rollups."}}}
	fill.Keys = without(keysOf((&fillReader{}).fields()), "intervals")
	return map[string]ConfigList{"trees": trees, "retention": retention, "rollups": fill}
}

func keysOf(fields yamlFields) []string { return slices.Sorted(maps.Keys(fields)) }

func without(keys []string, key string) []string {
	return slices.DeleteFunc(keys, func(k string) bool { return k == key })
}
